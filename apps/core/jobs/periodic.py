"""Periodic tasks of the job queue, the consistency checks, and the check of references between shops."""

import logging
from datetime import datetime

from apps.core.jobs import publishing
from apps.core.jobs.consistency_checks import find_cross_shop_references, log_differences, register_check
from apps.core.jobs.periodic_tasks import Every, delete_finished_jobs, periodic_task, sweep_steps
from apps.core.jobs.worker_processes import delete_lost_processes

logger = logging.getLogger(__name__)

register_check(
    "rows of other shops",
    find_cross_shop_references,
    "One shop can see data of another one: stop the shop's apps and report the fault.",
)
periodic_task("jobs.delete_finished_jobs", Every.HOUR)(delete_finished_jobs)
periodic_task("jobs.delete_lost_processes", Every.HOUR)(delete_lost_processes)


@periodic_task("jobs.send_due_jobs", Every.SWEEP)
def send_due_jobs(at: datetime) -> int:
    """Send jobs that are due, and run the other steps of each sweep. A step that fails does not stop the others."""
    count = publishing.send_due_jobs()
    for name, step in sweep_steps.items():
        try:
            count += step(at)
        except Exception:
            logger.exception("The step %s of the sweep failed", name)
    return count


@periodic_task("jobs.check_consistency", Every.NIGHT)
def check_consistency(_at: datetime) -> int:
    return log_differences()
