"""The routes of refunds, as the specification writes them."""

from apps.api.routing import route
from apps.refunds.api.views import RefundViewSet

urlpatterns = [
    route("orders/<order_id>/refunds.json", RefundViewSet, get="list", post="create"),
    route("orders/<order_id>/refunds/calculate.json", RefundViewSet, post="calculate"),
    route("orders/<order_id>/refunds/<id>.json", RefundViewSet, get="retrieve"),
]
