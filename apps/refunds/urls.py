from apps.core.rest.routing import api_path
from apps.refunds.api.views import RefundViewSet

urlpatterns = [
    api_path("orders/<order_id>/refunds.json", RefundViewSet, get="list", post="create"),
    api_path("orders/<order_id>/refunds/calculate.json", RefundViewSet, post="calculate"),
    api_path("orders/<order_id>/refunds/<id>.json", RefundViewSet, get="retrieve"),
]
