from apps.core.rest.routing import WITHOUT_COUNT, api_path, resource_paths
from apps.payments.api.payment_handlers import PaymentHandlerViewSet

urlpatterns = [
    *resource_paths("payment_handlers", PaymentHandlerViewSet, *WITHOUT_COUNT),
    api_path("payment_handlers/<id>/checkout_response.json", PaymentHandlerViewSet, get="checkout_response"),
    api_path("payment_handlers/<id>/redemptions.json", PaymentHandlerViewSet, post="redeem"),
]
