"""URL routes for the REST resource for webhook subscriptions."""

from apps.core.rest.routing import api_path
from apps.webhooks.api.webhooks import WebhookDeliveryViewSet, WebhookViewSet

urlpatterns = [
    api_path("webhooks.json", WebhookViewSet, get="list", post="create"),
    api_path("webhooks/count.json", WebhookViewSet, get="count"),
    api_path("webhooks/<id>.json", WebhookViewSet, get="retrieve", put="update", delete="destroy"),
    api_path("webhooks/<id>/replay.json", WebhookViewSet, post="replay"),
    api_path("webhooks/<subscription_id>/test.json", WebhookDeliveryViewSet, post="send_test"),
    api_path("webhooks/<subscription_id>/deliveries.json", WebhookDeliveryViewSet, get="list"),
    api_path("webhooks/<subscription_id>/deliveries/<id>.json", WebhookDeliveryViewSet, get="retrieve"),
    api_path("webhooks/<subscription_id>/deliveries/<id>/resend.json", WebhookDeliveryViewSet, post="resend"),
]
