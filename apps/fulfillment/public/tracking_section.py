"""The tracking section of the order status page."""

from apps.fulfillment.domain import customer_tracking
from apps.ground.types import Attrs
from apps.orders.domain.selectors import get_line_items
from apps.orders.models import Order

TEMPLATE = "fulfillment/tracking.html"


def get_tracking_context(order: Order) -> Attrs:
    """Return the order's fulfillments and open items, or an empty context if the order has neither."""
    shipments, unshipped = (
        customer_tracking.get_shipments(order),
        customer_tracking.get_unshipped_items(order, get_line_items(order)),
    )
    return {"shipments": shipments, "unshipped": unshipped} if shipments or unshipped else {}
