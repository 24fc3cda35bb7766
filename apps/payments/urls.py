"""The routes of payments."""

from apps.api.routing import route
from apps.payments.api.payment_handlers import PaymentHandlerViewSet

urlpatterns = [
    route("payment_handlers.json", PaymentHandlerViewSet, get="list", post="create"),
    route("payment_handlers/<id>.json", PaymentHandlerViewSet, get="retrieve", put="update", delete="destroy"),
    route("payment_handlers/<id>/checkout_response.json", PaymentHandlerViewSet, get="checkout_response"),
    route("payment_handlers/<id>/redemptions.json", PaymentHandlerViewSet, post="redeem"),
]
