"""What housekeeping lets go of: attempts after a week, deliveries and bytes after thirty days, dead ones after ninety.

Nothing that is unfinished goes. Rows go in steps, so that no table is held for long; event rows stay, and lose what was
rendered for subscribers together with the deliveries.
"""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from django.db.models import Exists, Model, OuterRef, Q, QuerySet

from apps.events.domain.forgetting import forget_payloads
from apps.events.models import Event
from apps.ground.ids import last_beside
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


def _old(model: type[Attempt | Delivery | Payload | Event], before: datetime, **narrowing: bool) -> Iterator[list[int]]:
    """The keys of rows that began before a moment, in steps from the oldest, until a step finds none.

    The young ones behind it, which are most, are not read. One that began before its neighbours and was written after
    them is found when these are old, too. Rows that a shop brought from another cell lie in a range of their own, whose
    oldest come first as well.
    """
    rows, last = model.objects.filter(**narrowing), 0
    while step := list(rows.filter(pk__gt=last).order_by("pk").values_list("pk", "created_at")[:STEP]):
        last = step[-1][0]
        if old := [pk for pk, began in step if began < before]:
            yield old
        else:
            last = last_beside(last)


def _clear_attempts(at: datetime) -> int:
    return sum(Attempt.objects.filter(pk__in=old).delete()[0] for old in _old(Attempt, at - KEEP_ATTEMPTS))


def _clear_deliveries(at: datetime) -> int:
    before = at - KEEP_DELIVERIES
    over = Q(finished_at__lt=before, state__in=_OVER)
    dead = Q(finished_at__lt=at - KEEP_DEAD, state=Delivery.State.DEAD)
    held = Q(state=Delivery.State.HELD)
    return sum(Delivery.objects.filter(over | dead | held, pk__in=old).delete()[0] for old in _old(Delivery, before))


def _clear_payloads(at: datetime) -> int:
    """Bytes that no delivery refers to any more; those of tests by themselves, all others by their event."""
    used = Exists(Delivery.objects.filter(event=OuterRef("event")))
    unused = Q(event__isnull=False) & ~used
    alone = Q(event=None, created_at__lt=at - KEEP_DEAD)
    return sum(
        Payload.objects.filter(unused | alone, pk__in=old).delete()[0] for old in _old(Payload, at - KEEP_DELIVERIES)
    )


def _empty_events(at: datetime) -> int:
    """What was rendered of events for subscribers; nothing of what waits for its fan-out.

    Events stay for ever, so those that still hold something are walked by an index of their own.
    """
    waiting = Pending.objects.filter(event=OuterRef("pk"))
    done = Event.objects.filter(writable()).exclude(Exists(waiting))
    return sum(
        forget_payloads(done.filter(pk__in=old)) for old in _old(Event, at - KEEP_DELIVERIES, payload__isnull=False)
    )


def _clear_subscriptions(at: datetime) -> int:
    """Deleted subscriptions whose last delivery is gone; and secrets that no longer sign."""
    RetiringSecret.objects.filter(until__lt=at - KEEP_ATTEMPTS).delete()
    left = Delivery.objects.filter(subscription=OuterRef("pk"))
    ended = Subscription.objects.filter(Q(shop=None) | writable(), deleted_at__lt=at - KEEP_DELIVERIES)
    ended = ended.exclude(Exists(left))
    Health.objects.filter(subscription__in=ended).delete()
    return _in_steps(ended, lambda pks: Subscription.objects.filter(pk__in=pks).delete()[0])
