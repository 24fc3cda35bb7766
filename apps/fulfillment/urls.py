"""The routes of fulfillment, as the specification writes them."""

from apps.api.routing import route
from apps.fulfillment.api.events import FulfillmentEventViewSet
from apps.fulfillment.api.fulfillments import (
    FulfillmentOrderFulfillmentViewSet,
    FulfillmentViewSet,
    OrderFulfillmentViewSet,
)
from apps.fulfillment.api.requests import CancellationRequestViewSet, FulfillmentRequestViewSet
from apps.fulfillment.api.services import FulfillmentServiceViewSet
from apps.fulfillment.api.views import (
    AssignedFulfillmentOrderViewSet,
    FulfillmentOrderViewSet,
    OrderFulfillmentOrderViewSet,
)

ONE = "fulfillment_orders/<id>"
EVENTS = "orders/<order_id>/fulfillments/<fulfillment_id>/events"

urlpatterns = [
    route("fulfillment_services.json", FulfillmentServiceViewSet, get="list", post="create"),
    route("fulfillment_services/<id>.json", FulfillmentServiceViewSet, get="retrieve", put="update", delete="destroy"),
    route("orders/<order_id>/fulfillment_orders.json", OrderFulfillmentOrderViewSet, get="list"),
    route("assigned_fulfillment_orders.json", AssignedFulfillmentOrderViewSet, get="list"),
    route("fulfillment_orders/set_fulfillment_orders_deadline.json", FulfillmentOrderViewSet, post="set_deadlines"),
    route(f"{ONE}.json", FulfillmentOrderViewSet, get="retrieve"),
    route(f"{ONE}/cancel.json", FulfillmentOrderViewSet, post="cancel"),
    route(f"{ONE}/close.json", FulfillmentOrderViewSet, post="close"),
    route(f"{ONE}/hold.json", FulfillmentOrderViewSet, post="hold_back"),
    route(f"{ONE}/release_hold.json", FulfillmentOrderViewSet, post="release_hold"),
    route(f"{ONE}/move.json", FulfillmentOrderViewSet, post="move"),
    route(f"{ONE}/locations_for_move.json", FulfillmentOrderViewSet, get="locations_for_move"),
    route(f"{ONE}/open.json", FulfillmentOrderViewSet, post="mark_as_open"),
    route(f"{ONE}/reschedule.json", FulfillmentOrderViewSet, post="reschedule"),
    route(f"{ONE}/fulfillment_request.json", FulfillmentRequestViewSet, post="send"),
    route(f"{ONE}/fulfillment_request/accept.json", FulfillmentRequestViewSet, post="accept"),
    route(f"{ONE}/fulfillment_request/reject.json", FulfillmentRequestViewSet, post="reject"),
    route(f"{ONE}/cancellation_request.json", CancellationRequestViewSet, post="send"),
    route(f"{ONE}/cancellation_request/accept.json", CancellationRequestViewSet, post="accept"),
    route(f"{ONE}/cancellation_request/reject.json", CancellationRequestViewSet, post="reject"),
    route(
        "fulfillment_orders/<fulfillment_order_id>/fulfillments.json", FulfillmentOrderFulfillmentViewSet, get="list"
    ),
    route("fulfillments.json", FulfillmentViewSet, post="create"),
    route("fulfillments/<id>/cancel.json", FulfillmentViewSet, post="cancel"),
    route("fulfillments/<id>/update_tracking.json", FulfillmentViewSet, post="update_tracking"),
    route("orders/<order_id>/fulfillments.json", OrderFulfillmentViewSet, get="list"),
    route("orders/<order_id>/fulfillments/count.json", OrderFulfillmentViewSet, get="count"),
    route("orders/<order_id>/fulfillments/<id>.json", OrderFulfillmentViewSet, get="retrieve"),
    route(f"{EVENTS}.json", FulfillmentEventViewSet, get="list", post="create"),
    route(f"{EVENTS}/<id>.json", FulfillmentEventViewSet, get="retrieve", delete="destroy"),
]
