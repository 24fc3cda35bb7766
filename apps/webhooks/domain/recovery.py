"""Sending once more: what was held or given up since a moment, one delivery, some, all that are dead.

A delivery keeps its id and bytes. A recovery is a job: it goes on where a killed worker left it, since what it moved is
no longer held or dead. It gives each delivery a moment of its own, so many a second, and further attempts never take
more than half of a dispatcher's slots, so that fresh events go out beside it.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_noop

from apps.events.domain.recording import record_event
from apps.ground.retelling import tells
from apps.jobs.domain import queue
from apps.jobs.models import Job
from apps.webhooks.models import Delivery, Subscription

RECOVER = "webhooks.recover"
_SENT_SINCE = tells(gettext_noop("Sent once more since {moment}"))
_BATCH = 500
# What can be sent once more.
OVER = (Delivery.State.HELD, Delivery.State.DEAD)


@transaction.atomic
def recover(subscription: Subscription, *, since: datetime, actor: str, at: datetime) -> Job:
    """Ask for everything that a subscription did not get since a moment; call it in the shop's scope.

    It is meant to be resumed first; what is sent to one that is paused or disabled is held again.
    """
    if subscription.shop_id is not None:
        record_event(
            "webhooks/recover", subscription, actor=actor, at=at, message=_SENT_SINCE.format(moment=f"{since:%c}")
        )
    return queue.enqueue(RECOVER, actor=actor, subscription_id=subscription.pk, since=since.isoformat())


def recover_dead(subscription: Subscription, *, actor: str, at: datetime) -> Job:
    """Ask for every delivery of a subscription that was given up."""
    return queue.enqueue(RECOVER, actor=actor, subscription_id=subscription.pk, states=[Delivery.State.DEAD.value])


def run_recovery(job: Job, **arguments: Any) -> None:
    """Give the deliveries of a recovery their moments, oldest first; the task of ``recover``."""
    states = arguments.get("states") or [state.value for state in OVER]
    rows = Delivery.objects.filter(subscription_id=arguments["subscription_id"], state__in=states)
    if since := arguments.get("since"):
        rows = rows.filter(triggered_at__gte=datetime.fromisoformat(since))
    # What dies again while we work is not ours to send for ever.
    rows = rows.filter(Q(finished_at=None) | Q(finished_at__lt=job.created_at))
    total = job.progress_done + rows.count()
    done = job.progress_done
    while True:
        with transaction.atomic():
            queue.hold(job)
            moved = _move(rows, done)
            done += moved
        if not moved:
            return
        queue.report_progress(job, done=done, total=max(total, done))


def _move(rows: "QuerySet[Delivery]", done: int) -> int:
    """Let the next ones go out, each at its moment; returns how many."""
    batch = list(rows.select_for_update(skip_locked=True, of=("self",)).order_by("event_id", "pk")[:_BATCH])
    begin = timezone.now()
    pace = settings.WEBHOOK_RECOVERIES_PER_SECOND
    for place, row in enumerate(batch):
        row.state, row.redelivery = Delivery.State.RETRY.value, row.redelivery or row.attempts > 0
        row.attempts, row.finished_at, row.error = 0, None, ""
        row.next_at = begin + timedelta(seconds=(place + (done % pace)) / pace)
    Delivery.objects.bulk_update(batch, ["state", "redelivery", "attempts", "finished_at", "error", "next_at"])
    return len(batch)


@transaction.atomic
def replay(deliveries: Collection[int], *, at: datetime) -> int:
    """Send chosen deliveries of the current shop once more, at once; returns how many that is.

    Those that are under way or wait for their turn stay as they are, but do not wait any longer.
    """
    chosen = Delivery.objects.filter(pk__in=deliveries).exclude(payload__body=b"")
    waiting = chosen.filter(state=Delivery.State.RETRY).update(next_at=at)
    over = chosen.filter(state__in=(*OVER, Delivery.State.DONE, Delivery.State.CANCELLED))
    over.filter(attempts__gt=0).update(redelivery=True)
    return waiting + over.update(
        state=Delivery.State.RETRY, attempts=0, next_at=at, finished_at=None, error="", lease=None, lease_until=None
    )
