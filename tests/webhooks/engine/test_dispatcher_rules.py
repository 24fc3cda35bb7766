from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.webhooks.domain.engine import retry_policy
from apps.webhooks.domain.engine.dispatcher import circuit_breaker
from apps.webhooks.domain.engine.dispatcher.circuit_breaker import CircuitBreaker
from apps.webhooks.domain.engine.dispatcher.endpoint_slots import (
    UNTESTED_SLOTS,
    AttemptKind,
    EndpointSlots,
    SlotAllocator,
)
from apps.webhooks.domain.engine.retry_policy import judge_failure, judge_response, parse_retry_after
from apps.webhooks.domain.filters import add_metafields, select_fields


def test_eight_further_attempts_within_four_hours_each_a_fifth_sooner_or_later() -> None:
    assert retry_policy.RETRY_SECONDS == (10, 40, 150, 480, 1200, 2400, 4200, 5920)
    assert retry_policy.WINDOW_SECONDS == 4 * 3600
    for number, planned in enumerate(retry_policy.RETRY_SECONDS, start=1):
        delays = [judge_failure("timeout", number).delay for _ in range(200)]
        assert 0.8 * planned <= min(delays) < 0.9 * planned < 1.1 * planned < max(delays) <= 1.2 * planned
    assert judge_failure("timeout", 9).state == "dead"


def test_an_answer_decides() -> None:
    retries = (301, 400, 401, 404, 408, 429, 500, 503)
    verdicts = {status: judge_response(status, {}, 1) for status in (200, 204, 299, *retries, 410)}

    assert {status: (row.state, row.error, row.is_gone) for status, row in verdicts.items()} == {
        **dict.fromkeys((200, 204, 299), ("done", "", False)),
        **{status: ("retry", f"status_{status}", False) for status in retries},
        410: ("dead", "status_410", True),
    }


def test_a_receiver_may_delay_but_neither_hurry_nor_stop_us() -> None:
    def delay(text: str, status: int = 503, number: int = 1) -> float:
        return judge_response(status, {"Retry-After": text}, number).delay

    now = datetime.now(UTC)
    assert delay("100") == 100
    assert 95 < delay(format_datetime(now + timedelta(seconds=100))) <= 100
    assert delay("999999999") == retry_policy.WINDOW_SECONDS
    assert 5920 <= delay("999999999", number=8) <= 1.2 * 5920
    for text in ("1", "0", "-1", "1e9", "soon", "", "١٠٠", format_datetime(now - timedelta(days=1))):
        assert 8 <= delay(text) <= 12, text
    assert 8 <= delay("100", status=404) <= 12
    assert 8 <= delay("100", status=302) <= 12


@given(st.text(max_size=60))
def test_any_text_in_retry_after_can_be_parsed(text: str) -> None:
    assert 0 <= parse_retry_after(text) < 10**10


def build_open_breaker() -> CircuitBreaker:
    breaker = CircuitBreaker()
    for _ in range(circuit_breaker.MAX_FAILURES_IN_A_ROW):
        breaker.record_failure(0.0, silent=True)
    return breaker


def test_five_consecutive_failures_open_the_breaker_unless_one_succeeds() -> None:
    breaker = CircuitBreaker()
    for _ in range(4):
        assert not breaker.record_failure(0.0, silent=True)
    breaker.record_success(0.0)
    for _ in range(4):
        assert not breaker.record_failure(0.0, silent=True)
    assert breaker.get_free_calls(0.0) is None

    assert breaker.record_failure(0.0, silent=True)
    assert breaker.get_free_calls(1.0) == 0


def test_one_request_tries_the_host_after_the_pause() -> None:
    breaker = build_open_breaker()
    later = breaker.open_until

    assert 8 <= later <= 12
    assert (breaker.get_free_calls(later - 0.1), breaker.get_free_calls(later)) == (0, 1)
    breaker.record_start()
    assert breaker.get_free_calls(later) == 0
    assert breaker.record_failure(later, silent=True)
    assert 16 <= breaker.open_until - later <= 24
    breaker.record_start()
    assert breaker.record_success(breaker.open_until)
    assert breaker.get_free_calls(later) is None


def test_the_pause_doubles_up_to_ten_minutes() -> None:
    breaker, now = build_open_breaker(), 0.0
    pauses = []
    for _ in range(12):
        pauses.append(breaker.open_until - now)
        now = breaker.open_until
        breaker.record_start()
        breaker.record_failure(now, silent=False)

    assert max(pauses) <= 720
    assert all(0.8 * min(10 * 2**n, 600) <= pause <= 1.2 * min(10 * 2**n, 600) for n, pause in enumerate(pauses))


def test_half_of_twenty_failures_within_a_minute_open_it() -> None:
    def open_by_half(seconds: float) -> list[bool]:
        breaker = CircuitBreaker()
        times = [number * seconds for number in range(20)]
        return [
            breaker.record_failure(at, silent=False) if number % 2 else breaker.record_success(at)
            for number, at in enumerate(times)
        ]

    assert open_by_half(1.0) == [False] * 19 + [True]
    assert open_by_half(10.0) == [False] * 20


def build_lane(endpoint: int, shop: int = 1, **values: object) -> EndpointSlots:
    endpoint_slots = EndpointSlots(endpoint, shop, f"host-{endpoint}", 10, CircuitBreaker())
    endpoint_slots.expect(AttemptKind.DUE, 0.0)
    endpoint_slots.has_responded = True
    for name, value in values.items():
        setattr(endpoint_slots, name, value)
    return endpoint_slots


def build_lanes(*lanes: EndpointSlots, slots: int = 200) -> SlotAllocator:
    slot_allocator = SlotAllocator(slots)
    for single_lane in lanes:
        slot_allocator.add(single_lane)
    return slot_allocator


def test_a_lane_has_its_slots_and_no_more() -> None:
    lanes = build_lanes(
        build_lane(1), build_lane(2, in_flight=7), build_lane(3, has_responded=False), build_lane(4, limit=3.9)
    )

    assert lanes.allocate(AttemptKind.DUE, 1.0) == {1: 10, 2: 3, 3: UNTESTED_SLOTS, 4: 3}
    assert lanes.allocate(AttemptKind.RETRY, 1.0) == {}


def test_shops_get_equal_shares_for_any_number_of_endpoints() -> None:
    lanes = [build_lane(number, shop=1) for number in range(100)]

    allocation = build_lanes(*lanes, build_lane(1000, shop=2), build_lane(1001, shop=3), slots=30).allocate(
        AttemptKind.DUE, 1.0
    )

    assert sum(allocation.values()) == 30
    assert (allocation[1000], allocation[1001]) == (10, 10)


def test_endpoints_take_turns_at_being_first() -> None:
    lanes = build_lanes(*(build_lane(number) for number in range(10)), slots=1)

    first = [next(iter(lanes.allocate(AttemptKind.DUE, 1.0))) for _ in range(20)]

    assert {*first} == {*range(10)}


def test_slow_and_unproven_lanes_leave_room_for_the_others() -> None:
    slow = [build_lane(number, shop=number, average_seconds=5.0) for number in range(50)]
    new = [build_lane(100 + number, shop=100 + number, has_responded=False) for number in range(200)]
    good = [build_lane(500 + number, shop=500 + number) for number in range(5)]
    lanes = build_lanes(*slow, *new, *good)

    allocation = lanes.allocate(AttemptKind.DUE, 1.0)

    assert sum(count for pk, count in allocation.items() if pk < 100) <= 50
    assert sum(count for pk, count in allocation.items() if 100 <= pk < 500) <= 100
    assert [allocation[single_lane.endpoint] for single_lane in good] == [10] * 5


def test_further_attempts_take_half_of_the_slots_at_most() -> None:
    lanes = build_lanes(*(build_lane(number, shop=number) for number in range(50)))
    for single_lane in lanes.by_endpoint.values():
        single_lane.expect(AttemptKind.RETRY, 0.0)

    assert sum(lanes.allocate(AttemptKind.RETRY, 1.0).values()) == 100
    assert sum(lanes.allocate(AttemptKind.DUE, 1.0).values()) == 200


def test_lanes_of_one_host_share_the_call_that_tries_it() -> None:
    breaker = build_open_breaker()
    lanes = build_lanes(build_lane(1, breaker=breaker), build_lane(2, breaker=breaker), build_lane(3))

    assert lanes.allocate(AttemptKind.DUE, 1.0) == {3: 10}
    assert sum(count for pk, count in lanes.allocate(AttemptKind.DUE, breaker.open_until).items() if pk < 3) == 1


def test_429_halves_and_success_raises_again() -> None:
    first_lane = build_lane(1)
    for _ in range(5):
        first_lane.decrease_limit()
    assert first_lane.limit == 1
    for _ in range(200):
        first_lane.increase_limit()
    assert first_lane.limit == 10


def test_news_that_came_while_we_looked_count_more_than_what_we_saw() -> None:
    first_lane = build_lane(1)
    first_lane.expect(AttemptKind.DUE, 5.0, noted_at=5.0)

    first_lane.expect_nothing(since=4.0)
    assert first_lane.due_at == {AttemptKind.DUE: 0.0}
    first_lane.expect_nothing(since=6.0)
    assert first_lane.due_at == {}


PAYLOAD = {
    "id": 1,
    "title": "Mug",
    "variants": [{"id": 2, "price": "5.00", "options": [{"name": "a", "x": 1}]}, {"id": 3, "price": "6.00"}],
    "image": None,
    "tags": "a, b",
}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ([], PAYLOAD),
        (["id", "title"], {"id": 1, "title": "Mug"}),
        (["variants.price"], {"variants": [{"price": "5.00"}, {"price": "6.00"}]}),
        (["variants.options.name"], {"variants": [{"options": [{"name": "a"}]}, {}]}),
        (["variants", "variants.price"], {"variants": PAYLOAD["variants"]}),
        (["variants.price", "variants"], {"variants": PAYLOAD["variants"]}),
        (["image.src", "nothing", "title.x"], {"image": None, "title": "Mug"}),
    ],
)
def test_fields_are_taken_through_arrays(fields: list[str], expected: object) -> None:
    assert select_fields(PAYLOAD, fields) == expected


def test_metafields_go_along_as_they_are_wanted() -> None:
    rows = [{"namespace": n, "key": k} for n, k in (("care", "wash"), ("care", "dry"), ("size", "cm"), ("own", "x"))]

    metafields = add_metafields(PAYLOAD, rows, ["care"], [{"namespace": "size", "key": "cm"}])

    assert [row["key"] for row in metafields["metafields"]] == ["wash", "dry", "cm"]
    assert add_metafields(PAYLOAD, rows, [], []) is PAYLOAD
