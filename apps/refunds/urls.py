from apps.core.rest.routing import api_path, resource_paths
from apps.refunds.api.views import RefundViewSet

urlpatterns = [
    *resource_paths("orders/<order_id>/refunds", RefundViewSet, "list", "create", "retrieve"),
    api_path("orders/<order_id>/refunds/calculate.json", RefundViewSet, post="calculate"),
]
