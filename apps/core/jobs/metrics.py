"""Measure the job queue for monitoring, and detect jobs that are due but do not run."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, Q
from django.db.models.functions import Now
from django.utils import timezone

from apps.core.jobs.job_tasks import get_all_names
from apps.core.jobs.models import Job
from apps.core.jobs.worker_processes import find_queues_without_worker

# Metrics count jobs that failed within this time. The Jobs page shows failed jobs for longer.
FAILED_WINDOW = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class JobMetrics:
    """Job metrics for all shops.

    Attributes:
        states: The number of jobs that are ``due`` (waiting for a worker), ``planned`` for later, ``running``, and
            ``failed`` within the last day.
        oldest_due_seconds: How long the oldest due job has been waiting, or 0 if no job is due.
        queues: The number of due jobs by queue.
    """

    states: dict[str, int]
    oldest_due_seconds: float
    queues: dict[str, int]


def get_job_metrics() -> JobMetrics:
    """Return the metrics. Call this function in the all-shops scope."""
    is_waiting = Q(state=Job.State.WAITING)
    is_due = is_waiting & Q(due_at__lte=Now())
    unfinished = Job.objects.filter(state__in=(Job.State.WAITING, Job.State.RUNNING))
    states = unfinished.aggregate(
        due=Count("pk", filter=is_due),
        planned=Count("pk", filter=is_waiting & Q(due_at__gt=Now())),
        running=Count("pk", filter=Q(state=Job.State.RUNNING)),
    )
    states["failed"] = Job.objects.filter(state=Job.State.FAILED, finished_at__gt=Now() - FAILED_WINDOW).count()
    oldest = Job.objects.filter(is_due).annotate(now=Now()).order_by("due_at").values("now", "due_at").first()
    lengths = unfinished.filter(is_due).values_list("queue").order_by("queue").annotate(Count("pk"))
    queues = dict.fromkeys(settings.TASK_QUEUES, 0) | dict(lengths)
    return JobMetrics(states, (oldest["now"] - oldest["due_at"]).total_seconds() if oldest else 0.0, queues)


# Idle workers start a job at once, so a job that waits longer than this is stalled.
EXPECTED_START = timedelta(seconds=15)


def find_active_job(*tasks: str, **arguments: Any) -> Job | None:
    lookups = {f"arguments__{name}": value for name, value in arguments.items()}
    names = [name for task in tasks for name in get_all_names(task)]
    jobs = Job.objects.filter(state__in=(Job.State.WAITING, Job.State.RUNNING), task__in=names, **lookups)
    return jobs.order_by("due_at", "pk").first()


@dataclass(frozen=True, slots=True)
class Stall:
    """Why a job does not run.

    Attributes:
        since: When the job became due, or when the job's worker last renewed its lease.
        queue: The name of the queue if no worker consumes it, or empty if the workers are busy.
        is_any_worker_running: True if workers consume other queues.
    """

    since: datetime
    queue: str = ""
    is_any_worker_running: bool = True


def find_stall(job: Job | None) -> Stall | None:
    """Return why an unfinished job does not run, or None if the job runs, is not due yet, or has just become due."""
    if job is None or job.state not in {Job.State.WAITING, Job.State.RUNNING}:
        return None
    is_running, now = job.state == Job.State.RUNNING, timezone.now()
    lease = timedelta(seconds=settings.JOB_LEASE_SECONDS)
    since = job.due_at if not is_running else job.lease_until and job.lease_until - lease
    if since is None or now - since < EXPECTED_START:
        return None
    silent = find_queues_without_worker()
    if job.queue in silent:
        return Stall(since, job.queue, is_any_worker_running=len(silent) < len(settings.TASK_QUEUES))
    # A running job with a valid lease has a worker, which may renew the lease less often than ``EXPECTED_START``.
    return None if is_running and now - since < lease + EXPECTED_START else Stall(since)
