"""Work that is due and that no worker takes: for a page that shows how far it is."""

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from apps.jobs.models import Job

# A worker that is free takes a job at once.
EXPECTED_WITHIN = timedelta(seconds=15)


def unfinished(*tasks: str, **arguments: Any) -> Job | None:
    """The job that does one of these tasks with such arguments, until it has ended."""
    named = {f"arguments__{name}": value for name, value in arguments.items()}
    jobs = Job.objects.filter(state__in=(Job.State.WAITING, Job.State.RUNNING), task__in=tasks, **named)
    found: Job | None = jobs.order_by("due_at", "pk").first()
    return found


def waits_since(job: Job | None) -> datetime | None:
    """Since when a job could be worked on and nobody does, longer than is expected; None for any other.

    Nobody does where no worker runs, where all are busy with others' work, or where the job's worker was killed.
    """
    if job is None:
        return None
    since = job.due_at if job.state == Job.State.WAITING else job.lease_until
    ended = job.state not in {Job.State.WAITING, Job.State.RUNNING}
    return None if ended or since is None or timezone.now() - since < EXPECTED_WITHIN else since
