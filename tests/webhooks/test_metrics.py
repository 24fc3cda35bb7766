from datetime import timedelta

import pytest
from django.utils import timezone

from apps.core.tenancy.models import Installation
from apps.core.tenancy.scope import all_shops_scope
from apps.webhooks.domain.engine.dispatcher.run_leases import acquire_run_lease
from apps.webhooks.domain.metrics import SAMPLE_PERIOD, collect_webhook_metrics
from apps.webhooks.models import Attempt, Delivery, DeliveryRun, Host
from tests.support.webhooks import URI, make_attempt, make_delivery, make_subscription

pytestmark = pytest.mark.django_db


def test_metrics_of_an_empty_installation_are_zero() -> None:
    with all_shops_scope():
        webhook_metrics = collect_webhook_metrics()

    assert (webhook_metrics.oldest_due_seconds, webhook_metrics.paused_hosts, webhook_metrics.fenced) == (0, 0, 0)
    assert (webhook_metrics.outcomes, webhook_metrics.lags) == ({}, {})


def test_runs_are_counted_until_their_lease_ends() -> None:
    assert acquire_run_lease() is not None
    with all_shops_scope():
        running = collect_webhook_metrics().runs
        DeliveryRun.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        lost = collect_webhook_metrics().runs

    assert (running, lost) == (1, 0)


def test_recent_attempts_are_reported_by_outcome_and_lag(installation: Installation) -> None:
    now, mine = timezone.now(), make_subscription(installation, URI)
    for number in range(20):
        delivery = make_delivery(installation, mine, triggered_at=now - timedelta(seconds=number + 1))
        set_times(make_attempt(delivery, outcome="ok" if number else "timeout", fenced=number == 0), now)
    second_delivery = make_delivery(installation, mine, triggered_at=now - timedelta(hours=1))
    set_times(make_attempt(second_delivery, number=2), now)
    old = make_delivery(installation, mine, triggered_at=now - timedelta(hours=2))
    set_times(make_attempt(old, outcome="connect"), now - SAMPLE_PERIOD - timedelta(minutes=1))

    with all_shops_scope():
        webhook_metrics = collect_webhook_metrics()

    assert webhook_metrics.outcomes == {"ok": 20, "timeout": 1}
    assert webhook_metrics.fenced == 1
    assert webhook_metrics.lags == {0.5: 11.0, 0.95: 20.0, 0.99: 20.0}


def test_due_deliveries_count_as_waiting_and_planned_ones_do_not(installation: Installation) -> None:
    now, mine = timezone.now(), make_subscription(installation, URI)
    make_delivery(installation, mine, state=Delivery.State.RETRY, next_at=now + timedelta(hours=1))
    with all_shops_scope():
        planned = collect_webhook_metrics().oldest_due_seconds
    make_delivery(installation, mine, state=Delivery.State.DUE, next_at=now - timedelta(seconds=90))
    make_delivery(installation, mine, state=Delivery.State.DONE, next_at=now - timedelta(days=1))
    Host.objects.create(name="a.example", trips=1, paused_until=now + timedelta(minutes=5))
    Host.objects.create(name="b.example", trips=1, paused_until=now - timedelta(minutes=5))

    with all_shops_scope():
        webhook_metrics = collect_webhook_metrics()

    assert planned == 0
    assert 90 <= webhook_metrics.oldest_due_seconds < 150
    assert webhook_metrics.paused_hosts == 1


def set_times(attempt: Attempt, at: object) -> None:
    with all_shops_scope():
        Attempt.objects.filter(pk=attempt.pk).update(created_at=at)
