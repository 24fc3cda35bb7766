"""Tests of the runs that deliver webhooks: the messages that start runs, the leases, and the end of a run."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from apps.core.circuit_breaker import CircuitOpen
from apps.core.jobs import publishing
from apps.core.tenancy.models import Installation, Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.demo.webhook_receiver import WebhookReceiver
from apps.webhooks.domain.engine import fan_out
from apps.webhooks.domain.engine.dispatcher import dispatcher, notify, run_leases
from apps.webhooks.domain.engine.dispatcher.run_leases import (
    RunLease,
    acquire_run_lease,
    get_seconds_until_work,
    release_run_lease,
    renew_run_lease,
)
from apps.webhooks.domain.engine.dispatcher.runner import Runner
from apps.webhooks.models import Delivery, DeliveryRun, Host
from tests.support.webhooks import create_blogs, make_subscription, wait_until_settled

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("allow_loopback")]
URI = "http://127.0.0.1:9/"
Messages = list[tuple[str, dict[str, Any]]]


@pytest.fixture(autouse=True)
def messages(monkeypatch: pytest.MonkeyPatch) -> Messages:
    """Record the messages that are sent to the broker."""
    sent: Messages = []
    monkeypatch.setattr(publishing, "send_task", lambda name, **options: sent.append((name, options)))
    monkeypatch.setattr(notify, "_covered_until", 0.0)
    monkeypatch.setattr(notify, "_next_delayed_at", 0.0)
    return sent


@pytest.fixture
def runner() -> Iterator[Runner]:
    running = Runner()
    yield running
    running.close()


def never() -> bool:
    return False


def run_once(runner: Runner, *, ends_at: float = float("inf"), must_stop: Callable[[], bool] = never) -> None:
    """Run in a thread, because the main thread has an event loop after tests with a browser."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(runner.run, ends_at, must_stop).result()


def expire_run_leases() -> None:
    DeliveryRun.objects.update(lease_until=timezone.now() - timedelta(seconds=1))


def update_deliveries(**values: Any) -> None:
    with all_shops_scope():
        Delivery.objects.update(**values)


# --- leases ----------------------------------------------------------------------------------------------------------


def test_leases_limit_the_number_of_runs(db: None, settings: Settings) -> None:
    settings.WEBHOOK_RUNS = 2
    first, second, third = acquire_run_lease(), acquire_run_lease(), acquire_run_lease()

    assert first is not None
    assert second is not None
    assert {first.slot, second.slot} == {0, 1}
    assert third is None
    # The message without a lease marked the first run, and only this run continues.
    assert (release_run_lease(first), release_run_lease(second)) == (True, False)
    again = acquire_run_lease()
    assert again is not None
    assert not release_run_lease(again)


def test_an_expired_lease_is_replaced(db: None) -> None:
    lost = acquire_run_lease()
    assert lost is not None
    assert renew_run_lease(lost)
    expire_run_leases()
    current = acquire_run_lease()

    assert current is not None
    assert not renew_run_lease(lost)
    assert not release_run_lease(lost)
    assert renew_run_lease(current)


# --- the search for work ---------------------------------------------------------------------------------------------


def test_the_search_for_work_takes_one_statement(
    shop: Shop, installation: Installation, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        assert get_seconds_until_work() is None
    make_subscription(installation, URI)
    create_blogs(shop)
    with django_assert_num_queries(1):
        assert get_seconds_until_work() == 0


Later = timedelta(hours=1)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(lambda now: update_deliveries(), 0, id="due"),
        pytest.param(lambda now: update_deliveries(state="retry", next_at=now + Later), 3600, id="retry later"),
        pytest.param(
            lambda now: Host.objects.create(name="127.0.0.1:9", trips=1, paused_until=now + Later),
            3600,
            id="paused host",
        ),
        pytest.param(lambda now: update_deliveries(state="leased", lease_until=now - Later), 0, id="expired lease"),
        pytest.param(lambda now: update_deliveries(state="leased", lease_until=now + Later), None, id="in progress"),
        pytest.param(lambda now: update_deliveries(state="done"), None, id="done"),
    ],
)
def test_the_search_for_work_returns_when_the_next_delivery_may_start(
    shop: Shop, installation: Installation, change: Callable[[object], object], expected: float | None
) -> None:
    make_subscription(installation, URI)
    create_blogs(shop, 2)
    fan_out.create_deliveries()
    change(timezone.now())

    seconds = get_seconds_until_work()

    assert seconds == (expected if expected is None else pytest.approx(expected, abs=60))


def test_the_search_for_work_skips_read_only_shops(shop: Shop, installation: Installation) -> None:
    make_subscription(installation, URI)
    create_blogs(shop)
    fan_out.create_deliveries()
    create_blogs(shop)
    Shop.objects.update(read_only_at=timezone.now())

    assert get_seconds_until_work() is None


# --- messages --------------------------------------------------------------------------------------------------------


def test_commits_in_quick_succession_send_one_message(
    shop: Shop, installation: Installation, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notify, "MIN_INTERVAL_SECONDS", 3600)
    make_subscription(installation, URI)
    create_blogs(shop, 5)
    assert messages == [("webhooks.deliver", {"queue": "webhooks"})]

    monkeypatch.setattr(notify, "_covered_until", time.monotonic())
    create_blogs(shop)
    assert len(messages) == 2


def test_a_broker_that_is_down_fails_no_write(
    shop: Shop, installation: Installation, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_subscription(installation, URI)

    def refuse(name: str, **options: object) -> None:
        raise CircuitOpen

    with monkeypatch.context() as patched:
        patched.setattr(publishing, "send_task", refuse)
        create_blogs(shop)
    create_blogs(shop)

    assert len(messages) == 1


# --- runs ------------------------------------------------------------------------------------------------------------


def test_a_run_ends_when_all_is_delivered(
    shop: Shop, installation: Installation, runner: Runner, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notify, "MIN_INTERVAL_SECONDS", 3600)
    # The run must still be looking for events when the last event is committed.
    monkeypatch.setattr(dispatcher, "LINGER_SECONDS", 3.0)
    with WebhookReceiver() as catcher:
        make_subscription(installation, catcher.url)
        create_blogs(shop, 3)
        messages.clear()
        thread = threading.Thread(target=runner.run, args=(float("inf"), never))
        thread.start()
        catcher.wait_for(3)
        # No message is sent for this event. The run is still looking for events.
        create_blogs(shop)
        thread.join(60)

        assert not thread.is_alive()
        assert len(catcher.requests) == 4
    assert wait_until_settled(shop) == {"done": 4}
    assert messages == []
    assert DeliveryRun.objects.get().lease_until is None


def test_a_run_that_is_cut_short_sends_a_message(
    shop: Shop, installation: Installation, runner: Runner, messages: Messages
) -> None:
    make_subscription(installation, URI)
    create_blogs(shop)
    messages.clear()

    run_once(runner, ends_at=time.monotonic())
    run_once(runner, must_stop=lambda: True)

    assert messages == [("webhooks.deliver", {"queue": "webhooks"})] * 2
    with shop_scope(shop):
        assert not Delivery.objects.filter(state="leased").exists()


def test_a_retry_that_is_due_soon_gets_a_delayed_message(
    shop: Shop, installation: Installation, runner: Runner, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_subscription(installation, URI)
    create_blogs(shop)
    fan_out.create_deliveries()
    messages.clear()
    update_deliveries(state="retry", next_at=timezone.now() + timedelta(hours=1))
    run_once(runner)
    assert messages == []

    monkeypatch.setattr(runner, "_get_seconds_until_work", lambda: 8.0)
    run_once(runner)
    run_once(runner)

    assert messages == [("webhooks.deliver", {"queue": "webhooks", "countdown": 8.0})]


def test_a_message_at_the_end_of_a_run_is_not_lost(
    shop: Shop, installation: Installation, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commit an event after the run's last search, with a message that finds the lease still taken."""
    late_messages = iter([1])

    def release(lease: RunLease) -> bool:
        if next(late_messages, None):
            create_blogs(shop)
            assert acquire_run_lease() is None
        return release_run_lease(lease)

    monkeypatch.setattr(run_leases, "release_run_lease", release)
    with WebhookReceiver() as catcher:
        make_subscription(installation, catcher.url)
        create_blogs(shop)
        run_once(runner)

        assert len(catcher.requests) == 2
