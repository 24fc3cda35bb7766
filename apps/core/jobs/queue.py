"""The job queue: enqueue and run background jobs.

``enqueue`` writes the job in the caller's transaction and notifies the broker after the commit. A notified worker
selects the next job by fair scheduling (``handle_notification``, ``fair_scheduling``). ``run_job`` acquires a lease
(``leases``), calls the task and stores the result. If a worker dies, its lease expires, and ``notify_stale_jobs``
notifies another worker. Due times and expired leases are compared with the database clock, because the clocks of
machines may differ.
"""

import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone
from django_stubs_ext import StrOrPromise

from apps.core.events.context import event_context
from apps.core.i18n.messages import Message, as_message, define_message, define_text
from apps.core.jobs import fair_scheduling, leases
from apps.core.jobs.broker_circuit_breaker import BrokerUnavailable
from apps.core.jobs.leases import LeaseLost, lock_lease, report_progress
from apps.core.jobs.models import Job
from apps.core.registry import NotRegistered, Registry
from apps.core.tenancy.models import Shop
from apps.core.tenancy.read_only import writable_shops
from apps.core.tenancy.scope import all_shops_scope, get_current_shop, shop_scope

__all__ = [
    "GiveUp",
    "LeaseLost",
    "Task",
    "attempt_wrappers",
    "cancel_job",
    "enqueue",
    "enqueue_many",
    "get_task_title",
    "handle_notification",
    "lock_lease",
    "notifiers",
    "notify_stale_jobs",
    "report_progress",
    "retry_job",
    "run_job",
    "tasks",
]

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 8
BACK_OFF_SECONDS = (5, 30, 120, 600, 1800, 3600, 3600)
# Workers are notified a second time if a job has not started within this time, because the message may be lost.
NOTIFY_AGAIN_AFTER = timedelta(seconds=60)
_SWEEP_BATCH_SIZE = 1000
# The maximum number of keys in one message.
_MAX_KEYS_PER_MESSAGE = 100
# The maximum number of times a worker looks for a job if other workers acquire the jobs first.
_MAX_LOOKUPS = 5
_UNKNOWN_TASK = define_message("jobs.unknown_task", "Unknown task {task}")
_WORKER_DIED = define_text("jobs.worker_died", "The worker died during each attempt")
_AND_THEN = define_message("jobs.and_then", "{first} (and then: {second})")


class GiveUp(Exception):
    """Raised by a task that cannot succeed, so that the job is not retried."""


@dataclass(frozen=True, slots=True)
class Task:
    """A kind of background work. Staff see ``title``.

    ``run`` is called with the job and its arguments in the shop's scope. It must be safe to run twice. ``on_give_up``
    is called in the transaction that records the final failure.
    """

    run: Callable[..., None]
    title: StrOrPromise = ""
    on_give_up: Callable[[Job], None] | None = None


# Tasks by their internal name, e.g. ``themes.extract``.
tasks = Registry[str, Task]("job tasks")
# Functions that send one notification for jobs with several keys. Notifications may get lost.
notifiers = Registry[str, Callable[..., None]]("job notifiers")
# Context managers that wrap each attempt at a job and see the exceptions of failed attempts.
attempt_wrappers = Registry[str, Callable[[Job], AbstractContextManager[None]]]("wrappers of attempts at jobs")


def get_task_title(task: str) -> str:
    """Return the task name that staff see, or the internal name if the task is not registered."""
    return str(tasks[task].title if task in tasks else "") or task


def enqueue(task: str, *, actor: str = "system", due_at: datetime | None = None, **arguments: Any) -> Job:
    """Enqueue a job in the current shop, to run after the current transaction commits and not before ``due_at``.

    The task gets ``arguments``, which are JSON values. Pass ids instead of objects.

    Raises:
        NotRegistered: The task is not registered.
    """
    return _create_jobs(task, [arguments], actor=actor, due_at=due_at)[0]


def enqueue_many(task: str, arguments_list: Sequence[Mapping[str, Any]], *, actor: str = "system") -> list[Job]:
    """Enqueue the same task with different arguments and notify the broker once for all jobs."""
    return _create_jobs(task, arguments_list, actor=actor, due_at=None)


def _create_jobs(
    task: str, arguments_list: Sequence[Mapping[str, Any]], *, actor: str, due_at: datetime | None
) -> list[Job]:
    if task not in tasks:
        raise NotRegistered(f"No job task is registered as {task!r}.")
    shop = get_current_shop()
    # A single insert can use the ``Now()`` expression. For many rows, querying the time once is faster, because the ORM
    # would compile the expression for each row.
    due_time = due_at or (
        Now() if len(arguments_list) < 2 else Shop.objects.filter(pk=shop.pk).values_list(Now(), flat=True).get()
    )
    jobs = [
        Job(shop=shop, task=task, arguments=dict(arguments), actor=actor, due_at=due_time)
        for arguments in arguments_list
    ]
    if len(jobs) == 1:
        jobs[0].save(force_insert=True)
    else:
        Job.objects.bulk_create(jobs)
    if due_at is None:
        for job in jobs:
            # Reading the stored database time would need a query, and the difference to ``created_at`` is small.
            job.due_at = job.created_at
        keys = [job.key for job in jobs]
        for start in range(0, len(keys), _MAX_KEYS_PER_MESSAGE):
            transaction.on_commit(partial(_notify_broker, *keys[start : start + _MAX_KEYS_PER_MESSAGE]))
    return jobs


def _notify_broker(*keys: uuid.UUID) -> bool:
    """Notify the broker. Return False instead of raising an error, because the sweep will find the jobs."""
    for notifier in notifiers.values():
        try:
            notifier(*keys)
        except BrokerUnavailable:
            return False
        except Exception:
            logger.warning(
                "The broker was not notified about jobs %s; the sweep will find them.",
                ", ".join(map(str, keys)),
                exc_info=True,
            )
            return False
    return True


def notify_stale_jobs() -> int:
    """Notify workers about due jobs that have no valid lease and no recent notification. Return their number."""
    count = 0
    with all_shops_scope():
        while jobs := _claim_unnotified():
            for index, (_, key) in enumerate(jobs):
                if not _notify_broker(key):
                    # The broker is down. Mark the remaining jobs as not notified, so that the next sweep finds them.
                    Job.objects.filter(pk__in=[pk for pk, _ in jobs[index:]]).update(rung_at=None)
                    return count
                count += 1
    return count


@transaction.atomic
def _claim_unnotified() -> list[tuple[int, uuid.UUID]]:
    """Return the next jobs that need a notification, and mark them so that concurrent sweeps skip them."""
    overdue = Now() - timedelta(seconds=settings.JOB_SWEEP_SECONDS / 2)
    is_waiting = Q(state=Job.State.WAITING, due_at__lte=overdue)
    is_expired = Q(state=Job.State.RUNNING, lease_until__lt=Now())
    not_notified = Q(rung_at=None) | Q(rung_at__lt=Now() - NOTIFY_AGAIN_AFTER)
    jobs = list(
        Job.objects.filter(
            (is_waiting & (not_notified | Q(rung_at__lt=F("due_at"))))
            | (is_expired & (not_notified | Q(rung_at__lt=F("lease_until")))),
            writable_shops(),
        )
        .select_for_update(skip_locked=True)
        .order_by("due_at", "id")
        .values_list("pk", "key")[:_SWEEP_BATCH_SIZE]
    )
    Job.objects.filter(pk__in=[pk for pk, _ in jobs]).update(rung_at=Now())
    return jobs


def handle_notification(key: uuid.UUID, *other_keys: uuid.UUID) -> bool:
    """Run the next job, which may not be the notified job. Return True if a job ran.

    A job with an expired lease has already been scheduled, so the notification runs this job directly. Before running a
    job, the worker repeatedly splits the other keys of the notification in half and sends one half as a new
    notification, so that many workers are notified quickly. If sending fails, the sweep finds the jobs.
    """
    while other_keys:
        half = len(other_keys) // 2
        _notify_broker(*other_keys[half:])
        other_keys = other_keys[:half]
    with all_shops_scope():
        is_expired = Job.objects.filter(key=key, state=Job.State.RUNNING, lease_until__lt=Now()).exists()
    has_run = run_job(key) if is_expired else _run_next(key)
    if has_run and settings.MAX_JOBS_PER_SHOP and (next_key := _get_next_key()):
        # Jobs that had to wait for a free slot of this shop have used up their notifications, so send a new
        # notification for the next job.
        _notify_broker(next_key)
    return has_run


def _run_next(key: uuid.UUID) -> bool:
    for _ in range(_MAX_LOOKUPS):
        next_key = _get_next_key()
        if next_key is None:
            return False
        if run_job(next_key):
            return True
    # Other workers acquired all jobs that were found, so run the notified job instead.
    return run_job(key)


def _get_next_key() -> uuid.UUID | None:
    with all_shops_scope():
        return fair_scheduling.get_next_job_key()


def run_job(key: uuid.UUID) -> bool:
    """Run a job unless another worker has its lease. Return True if this worker ran the job."""
    with all_shops_scope():
        lease = leases.acquire_lease(key)
        if lease is None:
            return False
        job = Job.objects.select_related("shop").get(key=key)
    with shop_scope(job.shop), event_context(request_id=str(job.key)):
        _attempt(job, lease)
    return True


def _attempt(job: Job, lease: leases.Lease) -> None:
    registered = tasks.get(job.task)
    # Count the attempt before it runs, because a killed worker cannot record a failure. Otherwise a job that kills
    # workers would be retried forever.
    lease.get_job_row().update(attempts=job.attempts + 1)
    job.attempts += 1
    try:
        if registered is None:
            raise GiveUp(_UNKNOWN_TASK(task=repr(job.task)))
        if job.attempts > MAX_ATTEMPTS:
            raise GiveUp(_WORKER_DIED)
        with lease.keep_renewed(str(job)), ExitStack() as stack:
            for wrapper in attempt_wrappers.values():
                stack.enter_context(wrapper(job))
            registered.run(job, **job.arguments)
    except Exception as error:
        final = isinstance(error, GiveUp) or job.attempts >= MAX_ATTEMPTS
        logger.log(logging.ERROR if final else logging.WARNING, "Job %s failed: %s", job, error, exc_info=not final)
        _record_failure(job, lease, error, registered.on_give_up if registered and final else None, final=final)
    else:
        lease.get_job_row().update(
            state=Job.State.DONE, finished_at=timezone.now(), lease=None, lease_until=None, error=""
        )


def _record_failure(
    job: Job, lease: leases.Lease, error: Exception, on_give_up: Callable[[Job], None] | None, *, final: bool
) -> None:
    """Store a failed attempt, unless another worker has acquired the job."""
    reason = _get_reason(error)
    try:
        with transaction.atomic():
            if _store_failure(job, lease, reason, final=final) and on_give_up:
                job.refresh_from_db()
                on_give_up(job)
    except Exception as second_error:
        if on_give_up is None:
            raise
        logger.exception("The on_give_up hook of job %s failed", job)
        _store_failure(job, lease, _AND_THEN(first=reason, second=_get_reason(second_error)), final=final)


def _store_failure(job: Job, lease: leases.Lease, reason: Message, *, final: bool) -> int:
    wait = BACK_OFF_SECONDS[min(job.attempts, len(BACK_OFF_SECONDS)) - 1]
    return lease.get_job_row().update(
        state=Job.State.FAILED if final else Job.State.WAITING,
        finished_at=timezone.now() if final else None,
        due_at=F("due_at") if final else Now() + timedelta(seconds=wait),
        error=reason,
        lease=None,
        lease_until=None,
    )


def _get_reason(error: Exception) -> Message:
    return as_message(str(error) or type(error).__name__)


def retry_job(job: Job) -> bool:
    """Restart a failed or canceled job. Return False if the job is in another state."""
    is_restarted = Job.objects.filter(pk=job.pk, state__in=(Job.State.FAILED, Job.State.CANCELLED)).update(
        state=Job.State.WAITING, attempts=0, due_at=Now(), rung_at=None, error="", finished_at=None
    )
    if is_restarted:
        transaction.on_commit(lambda: _notify_broker(job.key))
    return bool(is_restarted)


def cancel_job(job: Job) -> bool:
    """Cancel a waiting job. Return False if the job is in another state."""
    return bool(
        Job.objects.filter(pk=job.pk, state=Job.State.WAITING).update(
            state=Job.State.CANCELLED, finished_at=timezone.now()
        )
    )
