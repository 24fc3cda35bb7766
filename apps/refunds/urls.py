from apps.core.rest.routing import api_path, resource_paths
from apps.refunds.api.payment_gateways import PaymentGatewayView
from apps.refunds.api.views import RefundViewSet

urlpatterns = [
    *resource_paths("orders/<order_id>/refunds", RefundViewSet, "list", "create", "retrieve"),
    api_path("orders/<order_id>/refunds/calculate.json", RefundViewSet, post="calculate"),
    api_path("payment_gateways.json", PaymentGatewayView, get="list"),
    api_path("payment_gateways/<id>.json", PaymentGatewayView, get="retrieve"),
]
