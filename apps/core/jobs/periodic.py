"""Periodic tasks of the job queue, the consistency checks, and the check of references between shops."""

from datetime import datetime

from apps.core.jobs import publishing
from apps.core.jobs.consistency_checks import find_cross_shop_references, log_differences, register_check
from apps.core.jobs.periodic_tasks import Every, delete_finished_jobs, periodic_task
from apps.core.jobs.worker_processes import delete_lost_processes

register_check(
    "rows of other shops",
    find_cross_shop_references,
    "One shop can see data of another one: stop the shop's apps and report the fault.",
)
periodic_task("jobs.delete_finished_jobs", Every.HOUR)(delete_finished_jobs)
periodic_task("jobs.delete_lost_processes", Every.HOUR)(delete_lost_processes)


@periodic_task("jobs.send_due_jobs", Every.SWEEP)
def send_due_jobs(_at: datetime) -> int:
    return publishing.send_due_jobs()


@periodic_task("jobs.check_consistency", Every.NIGHT)
def check_consistency(_at: datetime) -> int:
    return log_differences()
