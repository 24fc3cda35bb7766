"""Cleanup of finished jobs, and the check of references between shops."""

from apps.core.jobs.consistency_checks import consistency_checks, find_cross_shop_references
from apps.core.jobs.periodic_tasks import delete_finished_jobs, hourly_tasks

hourly_tasks.register("finished jobs", delete_finished_jobs)
consistency_checks.register("rows of other shops", find_cross_shop_references)
