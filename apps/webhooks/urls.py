"""The routes of webhooks."""

from apps.api.routing import route
from apps.webhooks.api.webhooks import WebhookViewSet

urlpatterns = [
    route("webhooks.json", WebhookViewSet, get="list", post="create"),
    route("webhooks/count.json", WebhookViewSet, get="count"),
    route("webhooks/<id>.json", WebhookViewSet, get="retrieve", put="update", delete="destroy"),
]
