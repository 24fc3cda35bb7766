from apps.core.rest.routing import api_path
from apps.payments.api.payment_handlers import PaymentHandlerViewSet

urlpatterns = [
    api_path("payment_handlers.json", PaymentHandlerViewSet, get="list", post="create"),
    api_path("payment_handlers/<id>.json", PaymentHandlerViewSet, get="retrieve", put="update", delete="destroy"),
    api_path("payment_handlers/<id>/checkout_response.json", PaymentHandlerViewSet, get="checkout_response"),
    api_path("payment_handlers/<id>/redemptions.json", PaymentHandlerViewSet, post="redeem"),
]
