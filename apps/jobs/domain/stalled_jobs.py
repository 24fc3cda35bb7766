"""Detect jobs that are due but not taken by a worker, for pages that show progress."""

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from apps.jobs.models import Job

# Idle workers take a job at once, so a job that waits longer than this is stalled.
EXPECTED_START = timedelta(seconds=15)


def find_active_job(*tasks: str, **arguments: Any) -> Job | None:
    """Return the unfinished job of one of these tasks with these arguments, or None if there is none."""
    lookups = {f"arguments__{name}": value for name, value in arguments.items()}
    jobs = Job.objects.filter(state__in=(Job.State.WAITING, Job.State.RUNNING), task__in=tasks, **lookups)
    job: Job | None = jobs.order_by("due_at", "pk").first()
    return job


def get_stalled_since(job: Job | None) -> datetime | None:
    """Return the time since which a job has been stalled, or None if the job is not stalled.

    A job is stalled if no worker runs, if all workers are busy, or if the job's worker was killed.
    """
    if job is None:
        return None
    since = job.due_at if job.state == Job.State.WAITING else job.lease_until
    is_finished = job.state not in {Job.State.WAITING, Job.State.RUNNING}
    return None if is_finished or since is None or timezone.now() - since < EXPECTED_START else since
