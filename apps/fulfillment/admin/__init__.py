"""The staff face of fulfillment."""

from django.utils.translation import gettext_lazy

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

tell_as(FulfillmentOrder, gettext_lazy("fulfillment order"), gettext_lazy("fulfillment orders"))
tell_as(Fulfillment, gettext_lazy("parcel that was sent"), gettext_lazy("parcels that were sent"))
tell_as(FulfillmentEvent, gettext_lazy("tracking event"), gettext_lazy("tracking events"))
tell_as(FulfillmentHold, gettext_lazy("hold"), gettext_lazy("holds"))
tell_as(
    MerchantRequest, gettext_lazy("request to a fulfillment service"), gettext_lazy("requests to fulfillment services")
)
# What is in them are items of the order, which are told.
tell_nothing_of(FulfillmentLine, FulfillmentOrderLine)

__all__ = ["departures", "order_page", "services", "work_list"]
