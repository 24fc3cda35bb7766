from apps.core.jobs.consistency_checks import register_check
from apps.core.jobs.periodic_tasks import Every, periodic_task
from apps.fulfillment.domain import consistency_checks as checks
from apps.fulfillment.domain.fulfillment_orders import routing
from apps.fulfillment.domain.services import polling

periodic_task("fulfillment.start_due_pulls", Every.MINUTE)(polling.begin_due_rounds)
periodic_task("fulfillment.enqueue_missing_routing", Every.HOUR)(routing.enqueue_missing_routing)
periodic_task("fulfillment.delete_old_attempts", Every.HOUR)(polling.delete_old_attempts)
register_check(
    "fulfillment order quantities",
    checks.find_wrong_fulfillable_quantities,
    "Do not ship the order until its fulfillment orders contain the items that the customer still has to get.",
)
register_check(
    "fulfilled quantities",
    checks.find_wrong_fulfilled_quantities,
    "Compare the fulfillments of the order with the parcels that were shipped.",
)
register_check(
    "fulfillment order states",
    checks.find_wrong_states,
    "Do not ship these items, and tell the fulfillment service. Close the fulfillment order in the database.",
)
register_check(
    "stock of fulfillment orders",
    checks.find_wrong_stock_locations,
    "Count the item at the locations of the order and enter the result as the available quantity.",
)
