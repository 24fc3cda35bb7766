"""Periodic tasks and consistency checks of the catalog."""

from apps.catalog.domain import image_cleanup
from apps.catalog.domain.consistency_checks import find_wrong_lowest_prices, find_wrong_quantities
from apps.core.jobs.consistency_checks import consistency_checks
from apps.core.jobs.periodic_tasks import Every, periodic_task

periodic_task("catalog.delete_orphan_images", Every.HOUR)(image_cleanup.delete_orphan_images)
consistency_checks.register("lowest prices", find_wrong_lowest_prices)
consistency_checks.register("variant quantities", find_wrong_quantities)
