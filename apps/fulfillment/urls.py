from apps.core.rest.routing import WITHOUT_COUNT, api_path, resource_paths
from apps.fulfillment.api.events import FulfillmentEventViewSet
from apps.fulfillment.api.fulfillment_order_views import (
    AssignedFulfillmentOrderViewSet,
    FulfillmentOrderViewSet,
    OrderFulfillmentOrderViewSet,
)
from apps.fulfillment.api.fulfillments import (
    FulfillmentOrderFulfillmentViewSet,
    FulfillmentViewSet,
    OrderFulfillmentActionViewSet,
    OrderFulfillmentViewSet,
)
from apps.fulfillment.api.requests import CancellationRequestViewSet, FulfillmentRequestViewSet
from apps.fulfillment.api.services import FulfillmentServiceViewSet

FULFILLMENT_ORDER = "fulfillment_orders/<id>"
EVENTS = "orders/<order_id>/fulfillments/<fulfillment_id>/events"

urlpatterns = [
    *resource_paths("fulfillment_services", FulfillmentServiceViewSet, *WITHOUT_COUNT),
    api_path("orders/<order_id>/fulfillment_orders.json", OrderFulfillmentOrderViewSet, get="list"),
    api_path("assigned_fulfillment_orders.json", AssignedFulfillmentOrderViewSet, get="list"),
    api_path("fulfillment_orders/set_fulfillment_orders_deadline.json", FulfillmentOrderViewSet, post="set_deadlines"),
    api_path(f"{FULFILLMENT_ORDER}.json", FulfillmentOrderViewSet, get="retrieve"),
    api_path(f"{FULFILLMENT_ORDER}/cancel.json", FulfillmentOrderViewSet, post="cancel"),
    api_path(f"{FULFILLMENT_ORDER}/close.json", FulfillmentOrderViewSet, post="close"),
    api_path(f"{FULFILLMENT_ORDER}/hold.json", FulfillmentOrderViewSet, post="hold_back"),
    api_path(f"{FULFILLMENT_ORDER}/release_hold.json", FulfillmentOrderViewSet, post="release_hold"),
    api_path(f"{FULFILLMENT_ORDER}/move.json", FulfillmentOrderViewSet, post="move"),
    api_path(f"{FULFILLMENT_ORDER}/locations_for_move.json", FulfillmentOrderViewSet, get="locations_for_move"),
    api_path(f"{FULFILLMENT_ORDER}/open.json", FulfillmentOrderViewSet, post="mark_as_open"),
    api_path(f"{FULFILLMENT_ORDER}/reschedule.json", FulfillmentOrderViewSet, post="reschedule"),
    api_path(f"{FULFILLMENT_ORDER}/fulfillment_request.json", FulfillmentRequestViewSet, post="send"),
    api_path(f"{FULFILLMENT_ORDER}/fulfillment_request/accept.json", FulfillmentRequestViewSet, post="accept"),
    api_path(f"{FULFILLMENT_ORDER}/fulfillment_request/reject.json", FulfillmentRequestViewSet, post="reject"),
    api_path(f"{FULFILLMENT_ORDER}/cancellation_request.json", CancellationRequestViewSet, post="send"),
    api_path(f"{FULFILLMENT_ORDER}/cancellation_request/accept.json", CancellationRequestViewSet, post="accept"),
    api_path(f"{FULFILLMENT_ORDER}/cancellation_request/reject.json", CancellationRequestViewSet, post="reject"),
    api_path(
        "fulfillment_orders/<fulfillment_order_id>/fulfillments.json", FulfillmentOrderFulfillmentViewSet, get="list"
    ),
    api_path("fulfillments.json", FulfillmentViewSet, post="create"),
    api_path("fulfillments/<id>/cancel.json", FulfillmentViewSet, post="cancel"),
    api_path("fulfillments/<id>/update_tracking.json", FulfillmentViewSet, post="update_tracking"),
    *resource_paths("orders/<order_id>/fulfillments", OrderFulfillmentViewSet, "list", "count", "retrieve"),
    api_path("orders/<order_id>/fulfillments/<id>/cancel.json", OrderFulfillmentActionViewSet, post="cancel"),
    *resource_paths(EVENTS, FulfillmentEventViewSet, "list", "create", "retrieve", "destroy"),
]
