"""Delete old rows: attempts after a week, deliveries and payloads after 30 days, dead letters after 90 days.

Unfinished deliveries are never deleted, unless they are held. Rows are deleted in batches, so that locks are short.
Event rows are not deleted, but the payloads in old event rows are cleared.
"""

from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q

from apps.core.db.id_sequences import iterate_old_rows
from apps.core.events.models import Event
from apps.core.events.redaction import clear_payloads
from apps.core.tenancy.read_only import writable_shops
from apps.shops.models import RetiringSecret
from apps.webhooks.models import Attempt, Delivery, Health, Payload, Pending, Subscription

BATCH_SIZE = 1000
KEEP_ATTEMPTS = timedelta(days=7)
KEEP_DELIVERIES = timedelta(days=30)
KEEP_DEAD = timedelta(days=90)
_OVER = (Delivery.State.DONE, Delivery.State.CANCELLED)


def delete_expired_rows(at: datetime) -> int:
    cleanups = (_clear_attempts, _clear_deliveries, _clear_payloads, _clear_event_payloads, _clear_subscriptions)
    return sum(cleanup(at) for cleanup in cleanups)


def _clear_attempts(at: datetime) -> int:
    return sum(
        Attempt.objects.filter(pk__in=old).delete()[0]
        for old in iterate_old_rows(Attempt.objects.all(), at - KEEP_ATTEMPTS)
    )


def _clear_deliveries(at: datetime) -> int:
    before = at - KEEP_DELIVERIES
    over = Q(finished_at__lt=before, state__in=_OVER)
    dead = Q(finished_at__lt=at - KEEP_DEAD, state=Delivery.State.DEAD)
    is_held = Q(state=Delivery.State.HELD)
    return sum(
        Delivery.objects.filter(over | dead | is_held, pk__in=old).delete()[0]
        for old in iterate_old_rows(Delivery.objects.all(), before)
    )


def _clear_payloads(at: datetime) -> int:
    """Delete old payloads without deliveries. For payloads without an event, such as tests, only the age counts."""
    used = Exists(Delivery.objects.filter(event=OuterRef("event")))
    unused = Q(event__isnull=False) & ~used
    alone = Q(event=None, created_at__lt=at - KEEP_DEAD)
    return sum(
        Payload.objects.filter(unused | alone, pk__in=old).delete()[0]
        for old in iterate_old_rows(Payload.objects.all(), at - KEEP_DELIVERIES)
    )


def _clear_event_payloads(at: datetime) -> int:
    """Clear the rendered payloads of old events, except events that still wait for fan-out.

    Events are never deleted, so a partial index finds the events that still have payloads.
    """
    waiting = Pending.objects.filter(event=OuterRef("pk"))
    processed = Event.objects.filter(writable_shops()).exclude(Exists(waiting))
    return sum(
        clear_payloads(processed.filter(pk__in=old))
        for old in iterate_old_rows(Event.objects.filter(payload__isnull=False), at - KEEP_DELIVERIES)
    )


def _clear_subscriptions(at: datetime) -> int:
    """Purge soft-deleted subscriptions without remaining deliveries, and expired secrets."""
    RetiringSecret.objects.filter(until__lt=at - KEEP_ATTEMPTS).delete()
    remaining_deliveries = Delivery.objects.filter(subscription=OuterRef("pk"))
    subscriptions = Subscription.objects.filter(Q(shop=None) | writable_shops(), deleted_at__lt=at - KEEP_DELIVERIES)
    subscriptions = subscriptions.exclude(Exists(remaining_deliveries))
    Health.objects.filter(subscription__in=subscriptions).delete()
    count = 0
    while batch := list(subscriptions.order_by("pk").values_list("pk", flat=True)[:BATCH_SIZE]):
        count += Subscription.objects.filter(pk__in=batch).delete()[0]
    return count
