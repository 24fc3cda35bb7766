"""Hourly clearing: each domain registers what it lets go of, and when."""

from datetime import datetime, timedelta

from apps.jobs.domain.duties import Duties
from apps.jobs.models import Job

KEEP_FINISHED = timedelta(days=30)
BATCH = 1000

_hourly = Duties()
register, run_all = _hourly.register, _hourly.run_all


def clear_finished_jobs(at: datetime) -> int:
    """Delete finished jobs after 30 days, in batches."""
    cleared = 0
    while ids := list(
        Job.objects.filter(finished_at__lt=at - KEEP_FINISHED).order_by("pk").values_list("pk", flat=True)[:BATCH]
    ):
        cleared += Job.objects.filter(pk__in=ids).delete()[0]
    return cleared
