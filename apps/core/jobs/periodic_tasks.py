"""Tasks that run every minute, every hour and every night. Apps register them in ``periodic.py``."""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from django.utils import timezone

from apps.core.jobs.models import Job
from apps.core.registry import Registry
from apps.core.tenancy.scope import all_shops_scope

logger = logging.getLogger(__name__)

# A function that receives the current time and returns the number of processed rows. It runs in the all-shops scope.
PeriodicTask = Callable[[datetime], int]

# Work that is due at a certain time, such as calls to a warehouse.
minute_tasks = Registry[str, PeriodicTask]("minute tasks")
# Cleanup of expired rows and files.
hourly_tasks = Registry[str, PeriodicTask]("hourly tasks")
# Work that takes long, such as queries to payment gateways.
nightly_tasks = Registry[str, PeriodicTask]("nightly tasks")


def run_periodic_tasks(tasks: Registry[str, PeriodicTask], at: datetime | None = None) -> None:
    """Run every task of a registry. If a task fails, log the failure and continue."""
    for name, task in tasks.items():
        try:
            with all_shops_scope():
                logger.info("%s: %d", name, task(at or timezone.now()))
        except Exception:
            logger.exception("%s: failed", name)


KEEP_FINISHED = timedelta(days=30)
BATCH_SIZE = 1000


def delete_finished_jobs(at: datetime) -> int:
    count = 0
    while ids := list(
        Job.objects.filter(finished_at__lt=at - KEEP_FINISHED).order_by("pk").values_list("pk", flat=True)[:BATCH_SIZE]
    ):
        count += Job.objects.filter(pk__in=ids).delete()[0]
    return count
