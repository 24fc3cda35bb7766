"""Periodic tasks, which run every minute, every hour or every night.

Apps declare their periodic tasks in ``periodic.py``. Workers turn each declaration into a Celery task with the same
name, and the scheduler sends the tasks at their times (``backoffice.celery``). A task that is still running is skipped.
``manage.py periodic`` lists the runs.
"""

import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeVar

import uuid6
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from apps.core.db.id_sequences import iterate_old_rows
from apps.core.i18n.messages import as_message, translate
from apps.core.jobs.leases import Lease, get_lease_end
from apps.core.jobs.models import Job, PeriodicRun
from apps.core.registry import Registry
from apps.core.tenancy.scope import all_shops_scope

logger = logging.getLogger(__name__)

# A function that receives the current time and returns the number of processed rows. It runs in the all-shops scope.
PeriodicFunction = Callable[[datetime], int]
Function = TypeVar("Function", bound=PeriodicFunction)


class Every(StrEnum):
    """How often a periodic task runs.

    Hourly and nightly tasks are spread over the hour and the night, so that they do not run at the same time.
    """

    SWEEP = "sweep"  # every ``settings.JOB_SWEEP_SECONDS``
    MINUTE = "minute"
    HOUR = "hour"
    NIGHT = "night"


@dataclass(frozen=True, slots=True)
class PeriodicTask:
    run: PeriodicFunction
    every: Every


# Periodic tasks by name, e.g. ``shops.expire_purchases``.
periodic_tasks = Registry[str, PeriodicTask]("periodic tasks")


# Functions that run after each ``jobs.send_due_jobs``, by name. They share its run, so that an idle installation needs
# few statements.
sweep_steps = Registry[str, PeriodicFunction]("steps of each sweep")


def periodic_task(name: str, every: Every) -> Callable[[Function], Function]:
    """Declare a function as the periodic task ``name``, which is ``<app label>.<verb>_<object>``."""

    def declare(run: Function) -> Function:
        periodic_tasks.register(name, PeriodicTask(run, every))
        return run

    return declare


def run_periodic_task(name: str, at: datetime | None = None) -> int | None:
    """Run a periodic task and record the run. Return the number of processed rows, or None if it is still running.

    An exception of the task is recorded and raised again.
    """
    lease = _acquire_lease(name)
    if lease is None:
        logger.info("%s is still running and was skipped.", name)
        return None
    try:
        with lease.keep_renewed(name), all_shops_scope():
            result = periodic_tasks[name].run(at or timezone.now())
    except Exception as error:
        message = translate(as_message(str(error) or type(error).__name__))
        lease.get_row().update(finished_at=Now(), lease=None, lease_until=None, error=message[:1000])
        raise
    lease.get_row().update(finished_at=Now(), lease=None, lease_until=None, result=result, error="")
    logger.info("%s: %d", name, result)
    return result


def _acquire_lease(name: str) -> Lease | None:
    token: uuid.UUID = uuid6.uuid7()
    free = PeriodicRun.objects.filter(Q(lease=None) | Q(lease_until__lt=Now()), name=name)
    values = {"started_at": Now(), "lease": token, "lease_until": get_lease_end()}
    if not free.update(**values):
        # Insert the row before the first run.
        PeriodicRun.objects.bulk_create([PeriodicRun(name=name)], ignore_conflicts=True)
        if not free.update(**values):
            return None
    return Lease(token, lambda: PeriodicRun.objects.filter(name=name, lease=token))


KEEP_FINISHED = timedelta(days=30)


def delete_finished_jobs(at: datetime) -> int:
    before = at - KEEP_FINISHED
    return sum(
        Job.objects.filter(pk__in=old, finished_at__lt=before).delete()[0]
        for old in iterate_old_rows(Job.objects.all(), before)
    )
