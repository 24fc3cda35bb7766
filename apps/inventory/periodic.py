from apps.core.jobs.consistency_checks import register_check
from apps.core.jobs.periodic_tasks import Every, periodic_task
from apps.inventory.domain.consistency_checks import find_differences
from apps.inventory.domain.low_stock import mark_low_levels_of_all_shops

periodic_task("inventory.mark_low_levels", Every.NIGHT)(mark_low_levels_of_all_shops)
register_check(
    "stock",
    lambda: map(str, find_differences()),
    "Find the last correct row in the history of the item, count the item, and correct the ledger in the database.",
)
