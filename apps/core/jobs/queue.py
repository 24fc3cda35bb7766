"""The job queue: enqueue and run background jobs.

``enqueue`` writes the job in the caller's transaction and sends it to Celery after the commit (``publishing``). The
Celery task with the job's key as its ID calls ``handle_message``, which acquires a lease (``leases``), calls the
function of the task and stores the result. If a worker dies, its lease expires, and ``publishing.send_due_jobs`` sends
the job again. Due times and expired leases are compared with the database clock, because the clocks of machines may
differ.
"""

import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from apps.core.events.context import event_context
from apps.core.i18n.messages import Message, as_message, define_message, define_text
from apps.core.jobs import leases, publishing
from apps.core.jobs.job_tasks import Task, find_task, get_queue, get_task_title, tasks
from apps.core.jobs.leases import LeaseLost, lock_lease, report_progress
from apps.core.jobs.models import Job
from apps.core.registry import NotRegistered, Registry
from apps.core.tenancy.models import Shop
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
    "handle_message",
    "lock_lease",
    "report_progress",
    "retry_job",
    "run_job",
    "tasks",
]

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 8
BACK_OFF_SECONDS = (5, 30, 120, 600, 1800, 3600, 3600)
_WORKER_DIED = define_text("jobs.worker_died", "The worker died during each attempt")
_AND_THEN = define_message("jobs.and_then", "{first} (and then: {second})")


class GiveUp(Exception):
    """Raised by a task that cannot succeed, so that the job is not retried."""


# Context managers that wrap each attempt at a job and see the exceptions of failed attempts.
attempt_wrappers = Registry[str, Callable[[Job], AbstractContextManager[None]]]("wrappers of attempts at jobs")


def enqueue(task: str, *, actor: str = "system", due_at: datetime | None = None, **arguments: Any) -> Job:
    """Enqueue a job in the current shop, to run after the current transaction commits and not before ``due_at``.

    The task gets ``arguments``, which are JSON values. Pass ids instead of objects.

    Raises:
        NotRegistered: The task is not registered.
    """
    return _create_jobs(task, [arguments], actor=actor, due_at=due_at)[0]


def enqueue_many(task: str, arguments_list: Sequence[Mapping[str, Any]], *, actor: str = "system") -> list[Job]:
    """Enqueue the same task with different arguments, and send jobs up to the limit of the shop."""
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
    queue = get_queue(task)
    jobs = [
        Job(shop=shop, task=task, queue=queue, arguments=dict(arguments), actor=actor, due_at=due_time)
        for arguments in arguments_list
    ]
    if due_at is None:
        for place, job in enumerate(jobs[: settings.MAX_JOBS_PER_SHOP]):
            job.rung_at = publishing.get_send_time(shop.pk, queue, place)
    if len(jobs) == 1:
        jobs[0].save(force_insert=True)
    else:
        Job.objects.bulk_create(jobs)
    if due_at is None:
        for job in jobs:
            # Reading the stored database time would need a query, and the difference to ``created_at`` is small.
            job.due_at = job.created_at
        # The insert has set ``rung_at`` of the jobs that the shop may send.
        if sent := [job for job in jobs if job.rung_at is not None]:
            transaction.on_commit(partial(publishing.send_jobs, sent), robust=True)
    return jobs


class Attempt(NamedTuple):
    """An attempt at a job. ``error`` is empty after a success, and ``retry_at`` is empty after the last attempt."""

    job: Job
    error: Exception | None = None
    retry_at: datetime | None = None


def handle_message(key: uuid.UUID) -> Attempt | None:
    """Attempt a job, and then send the next jobs of its shop. Return None if the message is a duplicate or late."""
    attempt = attempt_job(key)
    if attempt:
        _send_next_jobs(attempt.job)
    return attempt


def run_job(key: uuid.UUID) -> bool:
    """Attempt a job unless another worker has its lease. Return True if this worker made the attempt."""
    return attempt_job(key) is not None


def attempt_job(key: uuid.UUID) -> Attempt | None:
    """Attempt a job and store the result. Return None if the job is not due or another worker has its lease."""
    with all_shops_scope():
        lease = leases.acquire_lease(key)
        if lease is None:
            return None
        job = Job.objects.select_related("shop").get(key=key)
    with shop_scope(job.shop), event_context(request_id=str(job.key)):
        return _attempt(job, lease)


def _attempt(job: Job, lease: leases.Lease) -> Attempt:
    task = find_task(job.task)[1]
    # Count the attempt before it runs, because a killed worker cannot record a failure. Otherwise a job that kills
    # workers would be retried forever.
    lease.get_row().update(attempts=job.attempts + 1)
    job.attempts += 1
    try:
        if task is None:
            raise GiveUp(publishing.UNKNOWN_TASK(task=repr(job.task)))
        if job.attempts > MAX_ATTEMPTS:
            raise GiveUp(_WORKER_DIED)
        with lease.keep_renewed(str(job)), ExitStack() as stack:
            for wrapper in attempt_wrappers.values():
                stack.enter_context(wrapper(job))
            task.run(job, **job.arguments)
    except Exception as error:
        final = isinstance(error, GiveUp) or job.attempts >= MAX_ATTEMPTS
        logger.log(logging.ERROR if final else logging.WARNING, "Job %s failed: %s", job, error, exc_info=not final)
        wait = timedelta(seconds=BACK_OFF_SECONDS[min(job.attempts, len(BACK_OFF_SECONDS)) - 1])
        _record_failure(job, lease, error, task.on_give_up if task and final else None, None if final else wait)
        return Attempt(job, error, None if final else timezone.now() + wait)
    lease.get_row().update(state=Job.State.DONE, finished_at=timezone.now(), lease=None, lease_until=None, error="")
    return Attempt(job)


def _record_failure(
    job: Job,
    lease: leases.Lease,
    error: Exception,
    on_give_up: Callable[[Job], None] | None,
    wait: timedelta | None,
) -> None:
    """Store a failed attempt, unless another worker has acquired the job."""
    reason = _get_reason(error)
    try:
        with transaction.atomic():
            if _store_failure(lease, reason, wait) and on_give_up:
                job.refresh_from_db()
                on_give_up(job)
    except Exception as second_error:
        if on_give_up is None:
            raise
        logger.exception("The on_give_up hook of job %s failed", job)
        _store_failure(lease, _AND_THEN(first=reason, second=_get_reason(second_error)), wait)


def _store_failure(lease: leases.Lease, reason: Message, wait: timedelta | None) -> int:
    """Store a failed attempt. Without ``wait``, the job fails. Otherwise, it waits in the database until then."""
    end: dict[str, Any] = (
        {"state": Job.State.FAILED, "finished_at": timezone.now()}
        if wait is None
        else {"state": Job.State.WAITING, "due_at": Now() + wait, "rung_at": None}
    )
    return lease.get_row().update(error=reason, lease=None, lease_until=None, **end)


def _get_reason(error: Exception) -> Message:
    return as_message(str(error) or type(error).__name__)


def retry_job(job: Job) -> bool:
    """Restart a failed or canceled job. Return False if the job is in another state."""
    is_restarted = Job.objects.filter(pk=job.pk, state__in=(Job.State.FAILED, Job.State.CANCELLED)).update(
        state=Job.State.WAITING, attempts=0, due_at=Now(), rung_at=None, error="", finished_at=None
    )
    if is_restarted:
        transaction.on_commit(partial(_send_next_jobs, job), robust=True)
    return bool(is_restarted)


def _send_next_jobs(job: Job) -> None:
    with all_shops_scope():
        publishing.send_next_jobs(job.shop_id, job.queue)


def cancel_job(job: Job) -> bool:
    """Cancel a waiting job. Return False if the job is in another state."""
    return bool(
        Job.objects.filter(pk=job.pk, state=Job.State.WAITING).update(
            state=Job.State.CANCELLED, finished_at=timezone.now()
        )
    )
