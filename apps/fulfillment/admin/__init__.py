"""The staff face of fulfillment."""

from apps.fulfillment.admin import departures, order_page, services, work_list
from apps.fulfillment.models import (
    Fulfillment,
    FulfillmentEvent,
    FulfillmentHold,
    FulfillmentLine,
    FulfillmentOrder,
    FulfillmentOrderLine,
    MerchantRequest,
)
from apps.panel.screens.deleting import tell_as, tell_nothing_of

tell_as(FulfillmentOrder, "fulfillment order", "fulfillment orders")
tell_as(Fulfillment, "parcel that was sent", "parcels that were sent")
tell_as(FulfillmentEvent, "tracking event", "tracking events")
tell_as(FulfillmentHold, "hold", "holds")
tell_as(MerchantRequest, "request to a fulfillment service", "requests to fulfillment services")
# What is in them are items of the order, which are told.
tell_nothing_of(FulfillmentLine, FulfillmentOrderLine)

__all__ = ["departures", "order_page", "services", "work_list"]
