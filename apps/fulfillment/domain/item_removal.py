"""Remove items from fulfillment orders when the items are removed from the order."""

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from apps.events.domain.recording import record_event
from apps.fulfillment.domain import line_quantities
from apps.fulfillment.models import FulfillmentHold, FulfillmentOrderLine
from apps.fulfillment.models.orders import UNFINISHED, RequestStatus, Status
from apps.ground.exceptions import TransitionRefused
from apps.orders.models import Order

# Request statuses in which items can only be removed after the fulfillment service accepts a cancellation.
ACCEPTED_BY_SERVICE = (
    RequestStatus.ACCEPTED,
    RequestStatus.CANCELLATION_REQUESTED,
    RequestStatus.CANCELLATION_REJECTED,
)


class AcceptedByService(TransitionRefused):
    """Raised when items can't be removed, because a fulfillment service has accepted them."""

    code = "fulfillment_taken_on"


def remove_quantities(lines: line_quantities.LineQuantities) -> None:
    """Remove unfulfilled quantities permanently from fulfillment order lines."""
    for line, count in lines.items():
        line.quantity -= count
        line.fulfillable_quantity -= count
    line_quantities.save_lines(lines)


@transaction.atomic
def remove_from_fulfillment_orders(order: Order, counts: Mapping[int, int], *, actor: str, at: datetime) -> None:
    """Remove quantities from the order's fulfillment orders. Call this before changing the line items.

    Quantities that are neither requested nor in progress are removed first. Quantities that a fulfillment service has
    accepted are never removed.

    Args:
        order: The locked order.
        counts: The quantities to remove, keyed by line item.
        actor: The actor for the audit log.
        at: The current time.

    Raises:
        AcceptedByService: If a fulfillment service has accepted some of the quantities to remove.
    """
    rows = (
        FulfillmentOrderLine.objects.filter(fulfillment_order__order=order, fulfillable_quantity__gt=0)
        .filter(line_item_id__in=counts)
        .select_related("fulfillment_order", "line_item")
        .order_by("pk")
    )
    lines = [row for row in rows if row.fulfillment_order.status in UNFINISHED]
    unrouted = {row.line_item_id: row.line_item.fulfillable_quantity for row in lines}
    for row in lines:
        unrouted[row.line_item_id] -= row.fulfillable_quantity
    remaining = {pk: max(count - max(unrouted.get(pk, count), 0), 0) for pk, count in counts.items()}
    selected: line_quantities.LineQuantities = {}
    for row in sorted(lines, key=lambda row: (_REMOVAL_ORDER.index(row.fulfillment_order.request_status), row.pk)):
        if row.fulfillment_order.request_status in ACCEPTED_BY_SERVICE:
            continue
        if count := min(remaining[row.line_item_id], row.fulfillable_quantity):
            selected[row] = count
            remaining[row.line_item_id] -= count
    if any(remaining.values()):
        raise AcceptedByService(
            _("Fulfillment services have already accepted some of the items. Request a cancellation first.")
        )
    remove_quantities(selected)
    for fulfillment_order in {row.fulfillment_order for row in selected}:
        if not line_quantities.get_remaining(fulfillment_order):
            fulfillment_order.status = Status.CLOSED
            fulfillment_order.save(update_fields=["status"])
            FulfillmentHold.objects.filter(fulfillment_order=fulfillment_order).delete()
            record_event("fulfillment_orders/cancelled", fulfillment_order, actor=actor, at=at)


_REMOVAL_ORDER = list(RequestStatus.values)
