"""Add fulfillments to the order permissions, and fulfillment services to the location and app permissions."""

from apps.core.tenancy.permissions import allow, grants

VIEW, CHANGE = "fulfillment.view_fulfillmentorder", "fulfillment.change_fulfillmentorder"
VIEW_FULFILLMENT, CHANGE_FULFILLMENT = "fulfillment.view_fulfillment", "fulfillment.change_fulfillment"
VIEW_SERVICE, CHANGE_SERVICE = "fulfillment.view_fulfillmentservice", "fulfillment.change_fulfillmentservice"

_FULFILLMENT = ("fulfillment.fulfillmentorder", "fulfillment.fulfillment")
_SERVICES = "fulfillment.fulfillmentservice"

grants.add(
    allow("orders", "v", *_FULFILLMENT),
    allow("edit_orders", "vc", *_FULFILLMENT),
    allow("locations", "v", _SERVICES),
    allow("applications", "vacd", _SERVICES),
)
