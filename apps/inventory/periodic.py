from apps.core.jobs.consistency_checks import consistency_checks
from apps.core.jobs.periodic_tasks import Every, periodic_task
from apps.inventory.domain.consistency_checks import find_differences
from apps.inventory.domain.low_stock import mark_low_levels_of_all_shops

periodic_task("inventory.mark_low_levels", Every.NIGHT)(mark_low_levels_of_all_shops)
consistency_checks.register("stock", lambda: map(str, find_differences()))
