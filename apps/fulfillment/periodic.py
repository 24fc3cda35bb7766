from apps.core.jobs.consistency_checks import consistency_checks
from apps.core.jobs.periodic_tasks import hourly_tasks, minute_tasks
from apps.fulfillment.domain import consistency_checks as checks
from apps.fulfillment.domain.fulfillment_orders import routing
from apps.fulfillment.domain.services import polling

minute_tasks.register("calls to fulfillment services", polling.begin_due_rounds)
hourly_tasks.register("orders that were never routed", routing.enqueue_missing_routing)
hourly_tasks.register("calls to fulfillment services", polling.delete_old_attempts)
consistency_checks.register("fulfillment order quantities", checks.find_wrong_fulfillable_quantities)
consistency_checks.register("fulfilled quantities", checks.find_wrong_fulfilled_quantities)
