"""What housekeeping lets go of: attempts after a week, deliveries and bytes after thirty days, dead ones after ninety.

Nothing that is unfinished goes. Rows go in steps, so that no table is held for long; event rows stay, and lose what was
rendered for subscribers together with the deliveries.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from django.db.models import Exists, Model, OuterRef, Q, QuerySet

from apps.events.models import Event
from apps.ground.rows import TimestampedQuerySet
from apps.shops.domain.read_only import writable
from apps.shops.models import RetiringSecret
from apps.webhooks.models import Attempt, Delivery, Health, Payload, Pending, Subscription

STEP = 1000
KEEP_ATTEMPTS = timedelta(days=7)
KEEP_DELIVERIES = timedelta(days=30)
KEEP_DEAD = timedelta(days=90)
_OVER = (Delivery.State.DONE, Delivery.State.CANCELLED)


def clear(at: datetime) -> int:
    """Let go of what has served its time; returns how many rows that were."""
    duties: tuple[Callable[[datetime], int], ...] = (
        _clear_attempts,
        _clear_deliveries,
        _clear_payloads,
        _empty_events,
        _clear_subscriptions,
    )
    return sum(duty(at) for duty in duties)


def _in_steps(rows: "QuerySet[Model] | TimestampedQuerySet[Model]", work: Callable[[list[int]], int]) -> int:
    """Do something to rows, so many at once, by ascending ids."""
    done, last = 0, 0
    while found := list(rows.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:STEP]):
        done += work(found)
        last = found[-1]
    return done


def _clear_attempts(at: datetime) -> int:
    old = Attempt.objects.filter(created_at__lt=at - KEEP_ATTEMPTS)
    return _in_steps(old, lambda pks: Attempt.objects.filter(pk__in=pks).delete()[0])


def _clear_deliveries(at: datetime) -> int:
    old = Delivery.objects.filter(finished_at__lt=at - KEEP_DELIVERIES, state__in=_OVER)
    dead = Delivery.objects.filter(finished_at__lt=at - KEEP_DEAD, state=Delivery.State.DEAD)
    held = Delivery.objects.filter(created_at__lt=at - KEEP_DELIVERIES, state=Delivery.State.HELD)
    return sum(
        _in_steps(rows, lambda pks: Delivery.objects.filter(pk__in=pks).delete()[0]) for rows in (old, dead, held)
    )


def _clear_payloads(at: datetime) -> int:
    """Bytes that no delivery refers to any more; those of tests by themselves, all others by their event."""
    by_event = Delivery.objects.filter(event=OuterRef("event"))
    old = Payload.objects.filter(created_at__lt=at - KEEP_DELIVERIES)
    unused = old.filter(event__isnull=False).exclude(Exists(by_event))
    alone = old.filter(event=None, created_at__lt=at - KEEP_DEAD)
    return sum(_in_steps(rows, lambda pks: Payload.objects.filter(pk__in=pks).delete()[0]) for rows in (unused, alone))


def _empty_events(at: datetime) -> int:
    """What was rendered of events for subscribers; nothing of what waits for its fan-out."""
    waiting = Pending.objects.filter(event=OuterRef("pk"))
    old = Event.objects.filter(writable(), created_at__lt=at - KEEP_DELIVERIES, payload__isnull=False)
    old = old.exclude(Exists(waiting))
    return _in_steps(old, lambda pks: Event.objects.filter(pk__in=pks).update(payload=None))


def _clear_subscriptions(at: datetime) -> int:
    """Deleted subscriptions whose last delivery is gone; and secrets that no longer sign."""
    RetiringSecret.objects.filter(until__lt=at - KEEP_ATTEMPTS).delete()
    left = Delivery.objects.filter(subscription=OuterRef("pk"))
    ended = Subscription.objects.filter(Q(shop=None) | writable(), deleted_at__lt=at - KEEP_DELIVERIES)
    ended = ended.exclude(Exists(left))
    Health.objects.filter(subscription__in=ended).delete()
    return _in_steps(ended, lambda pks: Subscription.objects.filter(pk__in=pks).delete()[0])
