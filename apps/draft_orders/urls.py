from apps.core.rest.routing import api_path, resource_paths
from apps.draft_orders.api.draft_orders import DraftOrderViewSet

urlpatterns = [
    *resource_paths("draft_orders", DraftOrderViewSet),
    api_path("draft_orders/<id>/complete.json", DraftOrderViewSet, put="complete"),
    api_path("draft_orders/<id>/send_invoice.json", DraftOrderViewSet, post="send_invoice"),
]
