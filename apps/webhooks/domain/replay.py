"""Replay deliveries: all that failed or were held since a given time, selected deliveries, or all dead letters.

A replayed delivery has the original ID and bytes. A replay is a job. If the worker is killed, another worker can resume
the job, because deliveries that are already scheduled are no longer held or dead. The job spreads deliveries over time
at a fixed rate. Replayed deliveries count as retries, which use at most half of a dispatcher's slots, so new events are
not delayed.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from apps.core.events.recording import record_event
from apps.core.i18n.messages import define_message
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.webhooks.models import Delivery, Subscription

REPLAY_JOB = "webhooks.replay_deliveries"
_SENT_SINCE = define_message("webhooks.replayed", "Replayed deliveries since {moment}")
_BATCH = 500
# The states from which a delivery can be replayed.
REPLAYABLE_STATES = (Delivery.State.HELD, Delivery.State.DEAD)


@transaction.atomic
def replay_since(subscription: Subscription, *, since: datetime, actor: str, at: datetime) -> Job:
    """Enqueue a replay of deliveries that failed or were held since a given time. Call it in the shop's scope.

    Resume the subscription first. Otherwise the replayed deliveries are held.
    """
    if subscription.shop_id is not None:
        record_event("webhooks/recover", subscription, actor=actor, at=at, message=_SENT_SINCE(moment=f"{since:%c}"))
    return queue.enqueue(REPLAY_JOB, actor=actor, subscription_id=subscription.pk, since=since.isoformat())


def replay_dead_letters(subscription: Subscription, *, actor: str, at: datetime) -> Job:
    return queue.enqueue(REPLAY_JOB, actor=actor, subscription_id=subscription.pk, states=[Delivery.State.DEAD.value])


def run_replay_job(job: Job, **arguments: Any) -> None:
    """Schedule the deliveries of a replay, oldest first. The functions above enqueue this task."""
    states = arguments.get("states") or [state.value for state in REPLAYABLE_STATES]
    rows = Delivery.objects.filter(subscription_id=arguments["subscription_id"], state__in=states)
    if since := arguments.get("since"):
        rows = rows.filter(triggered_at__gte=datetime.fromisoformat(since))
    # A delivery that fails again during this job is not replayed a second time.
    rows = rows.filter(Q(finished_at=None) | Q(finished_at__lt=job.created_at))
    total = job.progress_done + rows.count()
    scheduled_total = job.progress_done
    while True:
        with transaction.atomic():
            queue.lock_lease(job)
            scheduled_count = _schedule_batch(rows, scheduled_total)
            scheduled_total += scheduled_count
        if not scheduled_count:
            return
        queue.report_progress(job, completed=scheduled_total, total=max(total, scheduled_total))


def _schedule_batch(rows: "QuerySet[Delivery]", scheduled_before: int) -> int:
    """Schedule the next batch of deliveries, spread over time, and return the size of the batch."""
    batch = list(rows.select_for_update(skip_locked=True, of=("self",)).order_by("event_id", "pk")[:_BATCH])
    start = timezone.now()
    per_second = settings.WEBHOOK_REPLAYS_PER_SECOND
    for index, row in enumerate(batch):
        row.state, row.redelivery = Delivery.State.RETRY.value, row.redelivery or row.attempts > 0
        row.attempts, row.finished_at, row.error = 0, None, ""
        row.next_at = start + timedelta(seconds=(index + (scheduled_before % per_second)) / per_second)
    Delivery.objects.bulk_update(batch, ["state", "redelivery", "attempts", "finished_at", "error", "next_at"])
    return len(batch)


@transaction.atomic
def replay_deliveries(deliveries: Collection[int], *, at: datetime) -> int:
    """Send selected deliveries of the current shop immediately, and return the number of deliveries.

    Deliveries that are in progress or due are not changed. Deliveries that wait for a retry are sent immediately.
    """
    replayable = Delivery.objects.filter(pk__in=deliveries).exclude(payload__body=b"")
    retried_count = replayable.filter(state=Delivery.State.RETRY).update(next_at=at)
    finished = replayable.filter(state__in=(*REPLAYABLE_STATES, Delivery.State.DONE, Delivery.State.CANCELLED))
    finished.filter(attempts__gt=0).update(redelivery=True)
    return retried_count + finished.update(
        state=Delivery.State.RETRY, attempts=0, next_at=at, finished_at=None, error="", lease=None, lease_until=None
    )
