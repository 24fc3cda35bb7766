"""Periodic tasks and consistency checks of the catalog."""

from apps.catalog.domain import image_cleanup
from apps.catalog.domain.consistency_checks import find_wrong_lowest_prices, find_wrong_quantities
from apps.catalog.domain.notifications import stock_updates
from apps.core.jobs.consistency_checks import register_check
from apps.core.jobs.periodic_tasks import Every, periodic_task, sweep_steps

periodic_task("catalog.delete_orphan_images", Every.HOUR)(image_cleanup.delete_orphan_images)
sweep_steps.register("catalog.record_waiting_updates", stock_updates.record_waiting_updates)
register_check("lowest prices", find_wrong_lowest_prices, "Save a price of the product again.")
register_check(
    "variant quantities",
    find_wrong_quantities,
    "Only the variant's own column is wrong. Set it to the sum of the inventory levels in the database.",
)
