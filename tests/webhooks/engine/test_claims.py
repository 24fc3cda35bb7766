from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone
from pytest_django import Settings

from apps.content.domain.blogs import create_blog, update_blog
from apps.core.events.context import event_context
from apps.core.tenancy.models import Installation, Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.webhooks.domain.engine import claims, fan_out, maintenance, matching, results
from apps.webhooks.domain.engine.claims import Claim
from apps.webhooks.domain.engine.dispatcher.endpoint_slots import AttemptKind
from apps.webhooks.domain.engine.results import DeliveryResult
from apps.webhooks.models import Attempt, Delivery, Pending
from tests.support.databases.races import run_concurrently
from tests.support.webhooks import create_blogs, make_subscription

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("allow_loopback")]
URI = "http://127.0.0.1:9/"


def make_due_deliveries(shop: Shop, installation: Installation, count: int = 1, **values: Any) -> list[Delivery]:
    make_subscription(installation, URI, **values)
    create_blogs(shop, count)
    fan_out.create_deliveries()
    with shop_scope(shop):
        return list(Delivery.objects.order_by("pk"))


def claim_deliveries_of(rows: list[Delivery], free: int = 10, turn: AttemptKind = AttemptKind.DUE) -> list[Claim]:
    return claims.claim_deliveries({rows[0].endpoint_id: free}, turn)


def build_done_result(claim: Claim, state: str = "done") -> DeliveryResult:
    return DeliveryResult(claim, state, outcome="ok", status=200, total_ms=5)


def test_a_claim_leases_the_oldest_deliveries_exclusively(shop: Shop, installation: Installation) -> None:
    rows = make_due_deliveries(shop, installation, 5)

    first, second, third = claim_deliveries_of(rows, 3), claim_deliveries_of(rows, 3), claim_deliveries_of(rows, 3)

    assert sorted(item.pk for item in first) == [row.pk for row in rows[:3]]
    assert sorted(item.pk for item in second) == [row.pk for row in rows[3:]]
    assert third == []
    assert {item.action for item in first} == {"send"}
    assert {item.number for item in first} == {1}


def test_a_result_that_comes_late_is_logged_and_changes_nothing(shop: Shop, installation: Installation) -> None:
    rows = make_due_deliveries(shop, installation)
    (late,) = claim_deliveries_of(rows)
    with all_shops_scope():
        Delivery.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert maintenance.expire_leases() == 1
    (timely,) = claim_deliveries_of(rows, turn=AttemptKind.RETRY)

    assert results.write_results([build_done_result(late, "dead")]) == {late.pk}
    with shop_scope(shop):
        assert Delivery.objects.get().state == "leased"
    assert results.write_results([build_done_result(timely)]) == set()

    with shop_scope(shop):
        row = Delivery.objects.get()
        log = [(attempt.number, attempt.fenced) for attempt in Attempt.objects.order_by("pk")]
    assert (row.state, row.attempts, row.lease) == ("done", 2, None)
    assert log == [(1, True), (2, False)]


def test_a_dispatcher_that_lives_keeps_what_is_its_own_and_nothing_else(shop: Shop, installation: Installation) -> None:
    rows = make_due_deliveries(shop, installation, 2)
    first, second = claim_deliveries_of(rows)
    past = timezone.now() - timedelta(seconds=1)
    with all_shops_scope():
        Delivery.objects.update(lease_until=past)
        Delivery.objects.filter(pk=second.pk).update(lease=uuid4())

    maintenance.extend_leases([first, second])

    with all_shops_scope():
        ends = dict(Delivery.objects.values_list("pk", "lease_until"))
    assert ends[second.pk] == past
    assert timedelta(seconds=25) < (ends[first.pk] or past) - timezone.now() <= timedelta(seconds=30)
    assert maintenance.expire_leases() == 1


def test_deliveries_that_share_a_payload_are_claimed_with_its_bytes(shop: Shop, installation: Installation) -> None:
    for number in range(3):
        make_subscription(installation, f"{URI}{number}")
    make_subscription(installation, f"{URI}part", include_fields=["title"])
    create_blogs(shop, 2)
    fan_out.create_deliveries()
    with shop_scope(shop):
        bodies = {row.pk: bytes(row.payload.body) for row in Delivery.objects.select_related("payload")}
        room = dict.fromkeys(Delivery.objects.values_list("endpoint_id", flat=True), 10)

    matches = {delivery.pk: delivery.body for delivery in claims.claim_deliveries(room, AttemptKind.DUE)}

    assert matches == bodies
    assert len({*matches.values()}) == 4


def test_deliveries_that_kill_every_worker_are_given_up(shop: Shop, installation: Installation) -> None:
    rows = make_due_deliveries(shop, installation)
    states = []
    for number in range(20):
        claim_deliveries_of(rows, turn=AttemptKind.RETRY if number else AttemptKind.DUE)
        with all_shops_scope():
            Delivery.objects.filter(state="leased").update(lease_until=timezone.now() - timedelta(seconds=1))
            maintenance.expire_leases()
            states.append(Delivery.objects.get().state)

    assert states == ["retry"] * 17 + ["dead"] * 3


def test_results_of_deliveries_that_are_gone_lose_no_others(shop: Shop, installation: Installation) -> None:
    rows = make_due_deliveries(shop, installation, 2)
    first, second = sorted(claim_deliveries_of(rows), key=lambda delivery: delivery.pk)
    with shop_scope(shop):
        Delivery.objects.filter(pk=first.pk).delete()

    assert results.write_results([build_done_result(first), build_done_result(second)]) == {first.pk}
    with shop_scope(shop):
        assert Delivery.objects.get().state == "done"


def test_results_are_stored_for_any_response(shop: Shop, installation: Installation) -> None:
    (claim,) = claim_deliveries_of(make_due_deliveries(shop, installation))
    result = build_done_result(claim)
    result.headers = {"X-Strange": 'é"\\ \u2028', "Y": "ü"}
    result.excerpt, result.message, result.remote_ip = "<script>'\\u0000 😀", "x" * 255, "2001:db8::1"

    results.write_results([result])

    with shop_scope(shop):
        row = Attempt.objects.get()
    assert (row.response_headers, row.excerpt) == (result.headers, result.excerpt)
    assert (row.remote_ip, row.error) == ("2001:db8::1", "x" * 255)


def test_endpoints_are_found_at_which_something_waits(shop: Shop, installation: Installation) -> None:
    rows = make_due_deliveries(shop, installation, 3)
    with shop_scope(shop):
        Delivery.objects.filter(pk=rows[0].pk).update(state="retry", next_at=timezone.now() + timedelta(seconds=60))
        Delivery.objects.filter(pk=rows[1].pk).update(state="done")
    (matches,) = maintenance.scan_endpoints()

    assert matches.endpoint == rows[0].endpoint_id
    assert matches.due is not None
    assert matches.retry is not None
    assert matches.due <= 0
    assert 55 < matches.retry < 65


def test_breakers_are_known_to_other_processes() -> None:
    maintenance.share_breaker_state("dead.example", trips=2, pause=20, error="timed out")
    maintenance.share_breaker_state("well.example", trips=0, pause=0, error="")

    ((host, (trips, pause)),) = maintenance.get_open_breakers().items()

    assert (host, trips) == ("dead.example", 2)
    assert 18 < pause <= 20


def claim_in_four_threads(shop: Shop, rows: list[Delivery]) -> list[int]:
    def claim() -> list[int]:
        return [delivery.pk for delivery in claim_deliveries_of(rows, 20)]

    return [pk for pks in run_concurrently(shop, *[claim] * 4) for pk in pks]


@pytest.mark.postgres
@pytest.mark.race(control="test_deliveries_are_claimed_twice_without_lock")
def test_claims_at_once_take_different_deliveries(shop: Shop, installation: Installation) -> None:
    rows = make_due_deliveries(shop, installation, 60)

    claimed = claim_in_four_threads(shop, rows)

    assert sorted(claimed) == [row.pk for row in rows]


@pytest.mark.postgres
def test_deliveries_are_claimed_twice_without_lock(
    shop: Shop, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = make_due_deliveries(shop, installation, 60)
    # Since 15.15, PostgreSQL does not update a row by its ``ctid`` if another transaction has just updated the row.
    unlocked = (
        claims._CLAIM.replace("FOR UPDATE OF w SKIP LOCKED", "")
        .replace("d.ctid = ANY (ARRAY(SELECT ctid FROM due)) AND", "")
        .replace("FROM due)", "FROM due, pg_sleep(0.2))")
    )
    monkeypatch.setattr(claims, "_CLAIM", unlocked)

    claimed = claim_in_four_threads(shop, rows)

    assert len(claimed) > len({*claimed})


@pytest.mark.postgres
@pytest.mark.race(no_guard="the unique constraint of deliveries stands behind the lock, and cannot be turned off")
def test_fan_out_at_once_makes_one_delivery_of_each_event(shop: Shop, installation: Installation) -> None:
    make_subscription(installation, URI)
    create_blogs(shop, 40)

    reported_results = run_concurrently(shop, *(lambda: fan_out.create_deliveries(15).deliveries for _ in range(5)))
    while fan_out.create_deliveries(15).events:
        pass

    with shop_scope(shop):
        assert Delivery.objects.count() == 40
        assert not Pending.objects.exists()
    assert sum(reported_results) <= 40


def fail(_: object) -> bool:
    raise ZeroDivisionError


def test_failed_fan_out_can_be_repeated(
    shop: Shop, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_subscription(installation, URI)
    create_blogs(shop, 3)

    with monkeypatch.context() as patch:
        patch.setattr(fan_out, "_insert", fail)
        with pytest.raises(ZeroDivisionError):
            fan_out.create_deliveries()
    with shop_scope(shop):
        assert (Pending.objects.count(), Delivery.objects.count()) == (3, 0)

    assert fan_out.create_deliveries().deliveries == 3


def test_a_failing_filter_loses_nothing(
    shop: Shop, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = make_subscription(installation, f"{URI}broken", filter="id:*")
    make_subscription(installation, f"{URI}well")
    monkeypatch.setattr(matching, "compile_filter", lambda text: fail)
    create_blogs(shop)
    fan_out.create_deliveries()

    with all_shops_scope():
        assert Delivery.objects.count() == 1
        broken.refresh_from_db()
        assert broken.health.filter_errors == 1


def test_events_repeated_by_one_action_count_once(shop: Shop, installation: Installation) -> None:
    make_subscription(installation, URI, topic="blogs/update")
    with shop_scope(Shop.objects.get(pk=shop.pk)):
        blog = create_blog({"title": "a"}, actor="system", at=timezone.now())
        with event_context(request_id="one"):
            for title in ("b", "c"):
                update_blog(blog, {"title": title}, actor="system", at=timezone.now())
        update_blog(blog, {"title": "d"}, actor="system", at=timezone.now())
    fan_out.create_deliveries()

    with shop_scope(shop):
        bodies = [bytes(row.payload.body) for row in Delivery.objects.select_related("payload").order_by("event_id")]
    assert [body.split(b'"title":"')[1][:1] for body in bodies] == [b"c", b"d"]


def test_a_repeated_extract_is_not_sent(shop: Shop, installation: Installation, settings: Settings) -> None:
    make_subscription(installation, f"{URI}extract", topic="blogs/update", include_fields=["id", "title"])
    make_subscription(installation, f"{URI}whole", topic="blogs/update")
    with shop_scope(Shop.objects.get(pk=shop.pk)):
        blog = create_blog({"title": "a"}, actor="system", at=timezone.now())
        for tags in ("x", "y", "z"):
            update_blog(blog, {"tags": tags}, actor="system", at=timezone.now())
            fan_out.create_deliveries()
        counts = [Delivery.objects.filter(endpoint__uri__endswith=end).count() for end in ("extract", "whole")]
        settings.WEBHOOK_DEBOUNCE_SECONDS = 0
        update_blog(blog, {"tags": "w"}, actor="system", at=timezone.now())
        fan_out.create_deliveries()
        after = Delivery.objects.filter(endpoint__uri__endswith="extract").count()

    assert (counts, after) == ([1, 3], 2)


@pytest.fixture
def short_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let claims read fewer deliveries than the queue has, so that PostgreSQL postpones deliveries."""
    for name in ("_CLAIM", "_POSTPONE"):
        monkeypatch.setattr(claims, name, getattr(claims, name).replace(f"LIMIT {claims._MAX_READ}", "LIMIT 5"))


def make_ordered_deliveries(shop: Shop, installation: Installation, blog_count: int, updates: int) -> list[Delivery]:
    make_subscription(installation, URI, topic="blogs/update", ordered=True)
    with shop_scope(Shop.objects.get(pk=shop.pk)):
        blogs = [create_blog({"title": f"{number}"}, actor="system", at=timezone.now()) for number in range(blog_count)]
        for number in range(updates):
            for blog in blogs:
                update_blog(blog, {"title": f"{blog.pk} {number}"}, actor="system", at=timezone.now())
    fan_out.create_deliveries()
    with shop_scope(shop):
        return list(Delivery.objects.filter(topic="blogs/update").order_by("event_id"))


@pytest.mark.usefixtures("short_reads")
def test_a_long_queue_of_few_resources_is_delivered_in_order(shop: Shop, installation: Installation) -> None:
    rows = make_ordered_deliveries(shop, installation, 3, 10)
    rounds = []
    while claimed := claim_deliveries_of(rows):
        rounds.append([claim.pk for claim in claimed])
        assert claim_deliveries_of(rows) == []
        results.write_results([build_done_result(claim) for claim in claimed])

    assert len(rows) == 30
    assert [pk for claimed_ids in rounds for pk in sorted(claimed_ids)] == [row.pk for row in rows]
    assert [len(claimed_ids) for claimed_ids in rounds] == [3] * 10


@pytest.mark.usefixtures("short_reads")
def test_blocked_retries_hide_no_other_delivery(shop: Shop, installation: Installation) -> None:
    """Each of 10 resources has a retry that waits for an earlier event, as after a replay of dead letters."""
    rows = make_ordered_deliveries(shop, installation, 10, 2)
    make_subscription(installation, URI, topic="blogs/create")
    create_blogs(shop, 1)
    fan_out.create_deliveries()
    moment = timezone.now()
    with all_shops_scope():
        Delivery.objects.update(state="retry", attempts=1, next_at=moment - timedelta(seconds=5))
        Delivery.objects.filter(topic="blogs/create").update(next_at=moment - timedelta(seconds=1))
        Delivery.objects.filter(pk__in=[row.pk for row in rows[:10]]).update(next_at=moment + timedelta(hours=1))

    (unordered,) = claim_deliveries_of(rows, turn=AttemptKind.RETRY)
    with all_shops_scope():
        Delivery.objects.filter(pk__in=[row.pk for row in rows[:10]]).update(next_at=moment)
    heads = [claim for _ in range(2) for claim in claim_deliveries_of(rows, 5, AttemptKind.RETRY)]
    results.write_results([build_done_result(claim) for claim in heads])
    followers = [claim for _ in range(2) for claim in claim_deliveries_of(rows, 5, AttemptKind.RETRY)]

    assert unordered.topic == "blogs/create"
    assert sorted(claim.pk for claim in heads) == [row.pk for row in rows[:10]]
    assert sorted(claim.pk for claim in followers) == [row.pk for row in rows[10:]]


@pytest.mark.usefixtures("short_reads")
def test_a_busy_endpoint_does_not_stop_a_blocked_endpoint(shop: Shop, installation: Installation) -> None:
    rows = make_ordered_deliveries(shop, installation, 2, 10)
    first = [row for row in rows if row.ordering_key == rows[0].ordering_key]
    make_subscription(installation, URI + "busy", topic="blogs/create")
    create_blogs(shop, 5)
    fan_out.create_deliveries()
    with all_shops_scope():
        # The first resource's head is retried later, and its other events come before the events of the other resource.
        Delivery.objects.filter(pk=first[0].pk).update(state="retry", next_at=timezone.now() + timedelta(hours=1))
        Delivery.objects.filter(pk__in=[row.pk for row in first[1:]]).update(
            next_at=timezone.now() - timedelta(hours=1)
        )
        (busy,) = Delivery.objects.filter(topic="blogs/create").values_list("endpoint", flat=True).distinct()

    claimed = claims.claim_deliveries({busy: 2, rows[0].endpoint_id: 2}, AttemptKind.DUE)

    assert sorted(claim.topic for claim in claimed) == ["blogs/create", "blogs/create", "blogs/update"]


@pytest.mark.usefixtures("short_reads")
def test_a_result_does_not_send_a_planned_delivery_early(shop: Shop, installation: Installation) -> None:
    rows = make_ordered_deliveries(shop, installation, 1, 2)
    with all_shops_scope():
        Delivery.objects.filter(pk=rows[1].pk).update(state="retry", next_at=timezone.now() + timedelta(hours=1))
    (head,) = claim_deliveries_of(rows)

    results.write_results([build_done_result(head)])

    assert claim_deliveries_of(rows) == claim_deliveries_of(rows, turn=AttemptKind.RETRY) == []
