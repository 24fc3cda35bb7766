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

from apps.core.db.clock import get_database_time
from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError
from apps.core.i18n.messages import define_message, define_text
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Installation
from apps.core.tenancy.scope import all_shops_scope, get_current_shop
from apps.webhooks.domain import topics
from apps.webhooks.domain.engine.dispatcher.notify import notify_after_commit
from apps.webhooks.domain.engine.rate_limits import get_or_create_endpoint
from apps.webhooks.models import Delivery, Endpoint, Subscription

REPLAY_JOB = "webhooks.replay_deliveries"
MAX_AGE = timedelta(days=90)
# Larger counts of deliveries are not exact.
MAX_COUNT = 10_000
_FUTURE = define_text("webhooks.replay_future", "cannot be in the future")
_TOO_OLD = define_message("webhooks.replay_too_old", "cannot be more than {days} days ago")
_NOT_AFTER = define_text("webhooks.replay_not_after", "must be after since")
_NOT_LIVE = define_message(
    "webhooks.replay_not_live", "The subscription is {state}. Resume it before you replay its deliveries."
)
_IN_PROGRESS = define_text("webhooks.resend_in_progress", "The delivery is being sent right now.")
_NO_PAYLOAD = define_text(
    "webhooks.resend_no_payload", "The payload was too large, has expired, or was erased, so it can't be sent again."
)
_SENT_SINCE = define_message("webhooks.replayed", "Replayed deliveries since {moment}")
_BATCH = 500
# The states from which a delivery can be replayed.
REPLAYABLE_STATES = (Delivery.State.HELD, Delivery.State.DEAD)


class ReplayRefused(DomainError):
    """Raised when deliveries cannot be replayed. The keys of ``errors`` are ``since``, ``until`` and ``base``."""


class ResendRefused(DomainError):
    """Raised when a delivery cannot be sent again. The only key of ``errors`` is ``base``."""


@transaction.atomic
def request_replay(
    subscription: Subscription,
    installation: Installation,
    *,
    since: datetime,
    until: datetime | None,
    actor: str,
    at: datetime,
) -> int:
    """Enqueue a replay for an app, and return the number of deliveries, at most ``MAX_COUNT``.

    Raises:
        TopicScopeMissing: The app no longer has the scope that the topic requires.
        ReplayRefused: The time span is invalid, or the subscription is paused or disabled.
    """
    topics.require_topic_scope(installation, subscription.topic)
    end = until or at
    errors = {}
    if since > at:
        errors["since"] = [_FUTURE]
    elif since < at - MAX_AGE:
        errors["since"] = [_TOO_OLD(days=MAX_AGE.days)]
    if until and until > at:
        errors["until"] = [_FUTURE]
    elif until and until <= since:
        errors["until"] = [_NOT_AFTER]
    if errors:
        raise ReplayRefused(errors)
    if subscription.state != Subscription.State.LIVE:
        raise ReplayRefused({"base": [_NOT_LIVE(state=subscription.state)]})
    replay_since(subscription, since=since, until=end, actor=actor, at=at)
    rows = Delivery.objects.filter(subscription=subscription, state__in=REPLAYABLE_STATES)
    return rows.filter(triggered_at__range=(since, end))[:MAX_COUNT].count()


@transaction.atomic
def replay_since(
    subscription: Subscription, *, since: datetime, until: datetime | None = None, actor: str, at: datetime
) -> Job:
    """Enqueue a replay of deliveries that failed or were held in a time span. Call this function in the shop's scope.

    Resume the subscription first. Otherwise the replayed deliveries are held.
    """
    if subscription.shop_id is not None:
        record_event("webhooks/recover", subscription, actor=actor, at=at, message=_SENT_SINCE(moment=f"{since:%c}"))
    return queue.enqueue(
        REPLAY_JOB,
        actor=actor,
        subscription_id=subscription.pk,
        since=since.isoformat(),
        until=until.isoformat() if until else None,
    )


def replay_dead_letters(subscription: Subscription, *, actor: str, at: datetime) -> Job:
    return queue.enqueue(REPLAY_JOB, actor=actor, subscription_id=subscription.pk, states=[Delivery.State.DEAD.value])


def replay_held_deliveries(subscription: Subscription, *, actor: str, at: datetime) -> Job:
    return queue.enqueue(REPLAY_JOB, actor=actor, subscription_id=subscription.pk, states=[Delivery.State.HELD.value])


def run_replay_job(job: Job, **arguments: Any) -> None:
    """Schedule the deliveries of a replay to the subscription's current address, oldest first."""
    states = arguments.get("states") or [state.value for state in REPLAYABLE_STATES]
    rows = Delivery.objects.filter(subscription_id=arguments["subscription_id"], state__in=states)
    if since := arguments.get("since"):
        rows = rows.filter(triggered_at__gte=datetime.fromisoformat(since))
    if until := arguments.get("until"):
        rows = rows.filter(triggered_at__lte=datetime.fromisoformat(until))
    # A delivery that fails again during this job is not replayed a second time.
    rows = rows.filter(Q(finished_at=None) | Q(finished_at__lt=job.created_at))
    with all_shops_scope():
        subscription = Subscription.objects.filter(pk=arguments["subscription_id"]).first()
    if subscription is None:
        return
    endpoint = get_or_create_endpoint(get_current_shop().pk, subscription.uri)
    total = job.progress_done + rows.count()
    scheduled_total = job.progress_done
    start = get_database_time()
    while True:
        with transaction.atomic():
            queue.lock_lease(job)
            scheduled_count = _schedule_batch(rows, endpoint, scheduled_total, start)
            scheduled_total += scheduled_count
        if not scheduled_count:
            return
        queue.report_progress(job, completed=scheduled_total, total=max(total, scheduled_total))


def _schedule_batch(rows: "QuerySet[Delivery]", endpoint: Endpoint, scheduled_before: int, start: datetime) -> int:
    """Schedule the next batch of a replay, spread over the time since its start, and return the size of the batch."""
    batch = list(rows.select_for_update(skip_locked=True, of=("self",)).order_by("event_id", "pk")[:_BATCH])
    per_second = settings.WEBHOOK_REPLAYS_PER_SECOND
    for index, row in enumerate(batch):
        row.state, row.redelivery = Delivery.State.RETRY.value, row.redelivery or row.attempts > 0
        row.attempts, row.finished_at, row.lease_until, row.error = 0, None, None, ""
        row.endpoint = endpoint
        row.next_at = start + timedelta(seconds=(scheduled_before + index) / per_second)
    Delivery.objects.bulk_update(
        batch, ["state", "redelivery", "attempts", "finished_at", "lease_until", "error", "endpoint", "next_at"]
    )
    if batch:
        notify_after_commit()
    return len(batch)


@transaction.atomic
def replay_deliveries(deliveries: Collection[int]) -> int:
    """Send selected deliveries of the current shop immediately, and return the number of deliveries.

    Deliveries of a subscription are sent to its current address. Deliveries that are in progress or due are not
    changed. Deliveries that wait for a retry are sent immediately.
    """
    # With the lock, the updates below see the result of a concurrent replay.
    locked = Delivery.objects.filter(pk__in=deliveries).select_for_update(no_key=True).order_by("pk")
    locked_ids = list(locked.values_list("pk", flat=True))
    replayable = Delivery.objects.filter(pk__in=locked_ids).exclude(payload__body=b"")
    count, now = 0, get_database_time()
    addresses = replayable.values_list("subscription", "subscription__uri").order_by("subscription").distinct()
    for pk, uri in list(addresses):
        rows = replayable.filter(subscription=pk)
        moved: dict[str, Any] = {"next_at": now, "lease_until": None}
        if uri:
            moved["endpoint"] = get_or_create_endpoint(get_current_shop().pk, uri)
        count += rows.filter(state=Delivery.State.RETRY).update(**moved)
        finished = rows.filter(state__in=(*REPLAYABLE_STATES, Delivery.State.DONE, Delivery.State.CANCELLED))
        finished.filter(attempts__gt=0).update(redelivery=True)
        count += finished.update(
            state=Delivery.State.RETRY, attempts=0, finished_at=None, error="", lease=None, **moved
        )
    if count:
        notify_after_commit()
    return count


@transaction.atomic
def resend_delivery(
    delivery: Delivery, subscription: Subscription, installation: Installation, *, at: datetime
) -> None:
    """Send a delivery of an app's subscription again, and reload the delivery. A delivery that is due is not changed.

    Raises:
        TopicScopeMissing: The app no longer has the scope that the topic requires.
        ResendRefused: The delivery is in progress or has no payload, or the subscription is paused or disabled.
    """
    topics.require_topic_scope(installation, subscription.topic)
    if subscription.state != Subscription.State.LIVE:
        raise ResendRefused(_NOT_LIVE(state=subscription.state))
    is_sent = replay_deliveries([delivery.pk])
    delivery.refresh_from_db(fields=("state", "error", "redelivery", "next_at", "finished_at"))
    # Another request may have sent the delivery again at the same time, so that it waits already.
    if not is_sent and delivery.state not in {Delivery.State.DUE, Delivery.State.RETRY}:
        raise ResendRefused(_IN_PROGRESS if delivery.state == Delivery.State.LEASED else _NO_PAYLOAD)
