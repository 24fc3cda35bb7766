"""Who sees and does what: viewing goes with orders, doing with changing them; services go with apps and locations."""

from apps.staff.domain.permissions import grant

VIEW, CHANGE = "fulfillment.view_fulfillmentorder", "fulfillment.change_fulfillmentorder"
VIEW_PARCEL, CHANGE_PARCEL = "fulfillment.view_fulfillment", "fulfillment.change_fulfillment"
VIEW_SERVICE, CHANGE_SERVICE = "fulfillment.view_fulfillmentservice", "fulfillment.change_fulfillmentservice"

_WORK = ("fulfillment.fulfillmentorder", "fulfillment.fulfillment")
_SERVICES = "fulfillment.fulfillmentservice"

grant("orders", "v", *_WORK)
grant("edit_orders", "vc", *_WORK)
grant("locations", "v", _SERVICES)
grant("applications", "vacd", _SERVICES)
