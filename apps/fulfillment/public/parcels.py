"""The chapter of an order's page on its parcels."""

from apps.fulfillment.domain import journey
from apps.ground.attrs import Attrs
from apps.orders.domain.loading import lines_of
from apps.orders.models import Order

TEMPLATE = "fulfillment/parcels.html"


def tell(order: Order) -> Attrs:
    """The order's parcels, and what is still to come; nothing where neither is."""
    parcels, waiting = journey.parcels_of(order), journey.waiting_of(order, lines_of(order))
    return {"parcels": parcels, "waiting": waiting} if parcels or waiting else {}
