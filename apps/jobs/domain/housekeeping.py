"""Hourly cleanup. Each domain app registers its cleanup tasks."""

from datetime import datetime, timedelta

from apps.jobs.domain.periodic_tasks import PeriodicTasks
from apps.jobs.models import Job

KEEP_FINISHED = timedelta(days=30)
BATCH_SIZE = 1000

_hourly = PeriodicTasks()
register_hourly_task, run_hourly_tasks = _hourly.register, _hourly.run_all


def delete_finished_jobs(at: datetime) -> int:
    """Delete jobs that finished more than 30 days ago, in batches."""
    count = 0
    while ids := list(
        Job.objects.filter(finished_at__lt=at - KEEP_FINISHED).order_by("pk").values_list("pk", flat=True)[:BATCH_SIZE]
    ):
        count += Job.objects.filter(pk__in=ids).delete()[0]
    return count
