"""Add fulfillments to the order permissions, and fulfillment services to the location and app permissions."""

from apps.staff.domain.permissions import grant_permissions

VIEW, CHANGE = "fulfillment.view_fulfillmentorder", "fulfillment.change_fulfillmentorder"
VIEW_FULFILLMENT, CHANGE_FULFILLMENT = "fulfillment.view_fulfillment", "fulfillment.change_fulfillment"
VIEW_SERVICE, CHANGE_SERVICE = "fulfillment.view_fulfillmentservice", "fulfillment.change_fulfillmentservice"

_FULFILLMENT = ("fulfillment.fulfillmentorder", "fulfillment.fulfillment")
_SERVICES = "fulfillment.fulfillmentservice"

grant_permissions("orders", "v", *_FULFILLMENT)
grant_permissions("edit_orders", "vc", *_FULFILLMENT)
grant_permissions("locations", "v", _SERVICES)
grant_permissions("applications", "vacd", _SERVICES)
