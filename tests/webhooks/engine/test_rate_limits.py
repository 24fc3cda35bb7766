from datetime import timedelta
from typing import Any

import pytest
from django.db.models import DateTimeField, Value
from django.utils import timezone

from apps.core.tenancy.models import Installation, Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.demo.webhook_receiver import WebhookReceiver
from apps.webhooks.domain import subscriptions
from apps.webhooks.domain.engine import rate_limits
from apps.webhooks.domain.engine.dispatcher.circuit_breaker import CircuitBreaker
from apps.webhooks.domain.engine.dispatcher.endpoint_slots import AttemptKind, EndpointSlots, SlotAllocator
from apps.webhooks.domain.engine.rate_limits import TokenGrant, get_or_create_endpoint
from apps.webhooks.domain.errors import SubscriptionRefused
from apps.webhooks.models import Delivery, Endpoint, Subscription
from tests.support.databases import races
from tests.support.timing import wait_until
from tests.support.webhooks import create_blogs, make_subscription, run_dispatchers, wait_until_settled

pytestmark = pytest.mark.usefixtures("allow_loopback")

URI = "http://127.0.0.1:9/"


class FakeClock:
    def __init__(self) -> None:
        self.now = timezone.now()

    def __call__(self) -> Value:
        return Value(self.now, output_field=DateTimeField())

    def move(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    new_clock = FakeClock()
    monkeypatch.setattr(rate_limits, "Now", new_clock)
    return new_clock


def get_endpoint(shop: Shop, uri: str = URI, **values: Any) -> Endpoint:
    with shop_scope(shop):
        endpoint = get_or_create_endpoint(shop.pk, uri)
        if values:
            Endpoint.objects.filter(pk=endpoint.pk).update(**values)
    return endpoint


def take_from_bucket(row: Endpoint, count: int = 1) -> int:
    return rate_limits.take_tokens({row.pk: count})[row.pk].count


def change_subscription(shop: Shop, subscription: Subscription, **values: Any) -> None:
    with shop_scope(Shop.objects.get(pk=shop.pk)):
        subscriptions.update_subscription(subscription, values, actor="staff:1", at=timezone.now())


@pytest.mark.django_db
def test_a_bucket_fills_up_to_a_tenth_of_a_second(shop: Shop, installation: Installation, clock: FakeClock) -> None:
    subscription = make_subscription(installation, URI, max_per_second=50)
    row = get_endpoint(shop)

    assert take_from_bucket(row, 20) == 5
    assert rate_limits.take_tokens({row.pk: 20})[row.pk] == TokenGrant(0, 1 / 50)
    clock.move(0.05)
    assert rate_limits.take_tokens({row.pk: 1})[row.pk] == TokenGrant(1, 0.0)
    clock.move(3600)
    assert take_from_bucket(row, 3) == 3
    clock.move(-7200)
    assert (take_from_bucket(row, 20), take_from_bucket(row, 20)) == (2, 0)
    change_subscription(shop, subscription, max_per_second=None)
    assert rate_limits.take_tokens({row.pk: 20}) == {}


@pytest.mark.django_db
def test_unused_tokens_are_given_back(shop: Shop, installation: Installation, clock: FakeClock) -> None:
    make_subscription(installation, URI, max_per_second=1)
    row = get_endpoint(shop)

    assert (take_from_bucket(row), take_from_bucket(row)) == (1, 0)
    rate_limits.return_tokens({row.pk: 1})
    assert take_from_bucket(row) == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(control="test_a_token_is_taken_twice_without_the_row_lock")
def test_one_of_two_requests_gets_the_token(shop: Shop, installation: Installation, clock: FakeClock) -> None:
    make_subscription(installation, URI, max_per_second=1)
    row = get_endpoint(shop)
    first: list[int] = []

    second = races.run_while_uncommitted(
        shop, lambda: first.append(take_from_bucket(row)), lambda: take_from_bucket(row)
    )

    assert (first, second) == ([1], 0)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_token_is_taken_twice_without_the_row_lock(shop: Shop, installation: Installation, clock: FakeClock) -> None:
    make_subscription(installation, URI, max_per_second=1)
    row = get_endpoint(shop)
    first: list[int] = []

    second = races.run_unguarded(
        shop, lambda: first.append(take_from_bucket(row)), lambda: take_from_bucket(row), locks=["webhooks_endpoint"]
    )

    assert (first, second) == ([1], 1)


@pytest.mark.django_db
def test_an_endpoint_has_the_strictest_of_what_is_asked_for(shop: Shop, installation: Installation) -> None:
    def limits() -> tuple[int, int | None]:
        with all_shops_scope():
            row = Endpoint.objects.get(shop=shop)
        return row.max_in_flight, row.max_per_second

    first = make_subscription(installation, URI, max_per_second=50, max_in_flight=2)
    get_endpoint(shop)
    assert limits() == (2, 50)
    with all_shops_scope():
        values = {"topic": "blogs/update", "uri": URI, "api_version": "2026-10", "max_per_second": 5}
        of_all_shops = subscriptions.create_configured_subscription(installation.app, values, at=timezone.now())
    assert limits() == (2, 5)
    change_subscription(shop, first, max_in_flight=20)
    assert limits() == (10, 5)
    with shop_scope(shop):
        subscriptions.delete_subscription(of_all_shops, actor="system", at=timezone.now())
    assert limits() == (20, 50)
    change_subscription(shop, first, uri=f"{URI}elsewhere")
    assert limits() == (10, None)


@pytest.mark.django_db
def test_invalid_rate_limits_are_refused(shop: Shop, installation: Installation) -> None:
    for value in (0, 1001, -1, True, "5", 2.5):
        with pytest.raises(SubscriptionRefused) as refused:
            make_subscription(installation, URI, max_per_second=value)
        assert list(refused.value.errors) == ["max_per_second"]


@pytest.mark.django_db(transaction=True)
def test_a_rate_limited_delivery_delays_no_other(shop: Shop, installation: Installation, clock: FakeClock) -> None:
    with WebhookReceiver() as slow, WebhookReceiver() as quick:
        capped = make_subscription(installation, slow.url, max_per_second=5)
        get_endpoint(shop, slow.url, tokens=0.0, tokens_at=clock.now)
        make_subscription(installation, quick.url)
        with run_dispatchers(count=2):
            create_blogs(shop, 12)
            wait_until(lambda: len(quick.requests), (12).__eq__)
            assert slow.requests == []
            with shop_scope(shop):
                assert Delivery.objects.filter(subscription=capped, state="due", attempts=0).count() == 12
            clock.move(60)
            wait_until(lambda: len(slow.requests), bool)
            change_subscription(shop, capped, max_per_second=None)
            assert wait_until_settled(shop) == {"done": 24}
    assert len(slow.requests) == 12


def test_first_and_further_attempts_take_turns_under_a_rate_limit() -> None:
    lanes = SlotAllocator()
    lane = EndpointSlots(1, 1, "a.example", 10, CircuitBreaker(), max_per_second=1, has_responded=True)
    lanes.add(lane)
    for turn in AttemptKind:
        lane.expect(turn, 0.0)
    assert lanes.allocate(AttemptKind.DUE, 1.0)

    lane.last_kind = AttemptKind.DUE
    assert not lanes.allocate(AttemptKind.DUE, 1.0)
    assert lanes.allocate(AttemptKind.RETRY, 1.0)
    lane.paused_until = 2.0
    assert not lanes.allocate(AttemptKind.RETRY, 1.0)
    assert lanes.allocate(AttemptKind.RETRY, 2.0)
    lane.expect_nothing(AttemptKind.RETRY, since=1.0)
    assert lanes.allocate(AttemptKind.DUE, 2.0)
