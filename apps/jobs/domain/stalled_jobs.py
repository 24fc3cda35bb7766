"""Detect jobs that are due but do not run, for pages that show progress."""

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from apps.jobs.models import Job

# Idle workers start a job at once, so a job that waits longer than this is stalled.
EXPECTED_START = timedelta(seconds=15)


def find_active_job(*tasks: str, **arguments: Any) -> Job | None:
    """Return the unfinished job that runs one of these tasks with these arguments, or None."""
    lookups = {f"arguments__{name}": value for name, value in arguments.items()}
    jobs = Job.objects.filter(state__in=(Job.State.WAITING, Job.State.RUNNING), task__in=tasks, **lookups)
    job: Job | None = jobs.order_by("due_at", "pk").first()
    return job


def get_stalled_since(job: Job | None) -> datetime | None:
    """Return the time at which a stalled job became due or lost its worker, or None if the job is not stalled.

    A job stalls if no worker is running, all workers are busy or the job's worker was killed.
    """
    if job is None:
        return None
    since = job.due_at if job.state == Job.State.WAITING else job.lease_until
    is_finished = job.state not in {Job.State.WAITING, Job.State.RUNNING}
    return None if is_finished or since is None or timezone.now() - since < EXPECTED_START else since
