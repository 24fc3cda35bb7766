from apps.core.jobs.consistency_checks import consistency_checks
from apps.core.jobs.periodic_tasks import Every, periodic_task
from apps.fulfillment.domain import consistency_checks as checks
from apps.fulfillment.domain.fulfillment_orders import routing
from apps.fulfillment.domain.services import polling

periodic_task("fulfillment.start_due_pulls", Every.MINUTE)(polling.begin_due_rounds)
periodic_task("fulfillment.enqueue_missing_routing", Every.HOUR)(routing.enqueue_missing_routing)
periodic_task("fulfillment.delete_old_attempts", Every.HOUR)(polling.delete_old_attempts)
consistency_checks.register("fulfillment order quantities", checks.find_wrong_fulfillable_quantities)
consistency_checks.register("fulfilled quantities", checks.find_wrong_fulfilled_quantities)
