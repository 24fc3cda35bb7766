from apps.core.rest.routing import api_path, resource_paths
from apps.gift_cards.api.gift_cards import AdjustmentViewSet, GiftCardViewSet

urlpatterns = [
    *resource_paths("gift_cards", GiftCardViewSet, "list", "create", "retrieve", "update"),
    api_path("gift_cards/count.json", GiftCardViewSet, get="count"),
    api_path("gift_cards/search.json", GiftCardViewSet, get="search"),
    api_path("gift_cards/<id>/disable.json", GiftCardViewSet, post="disable"),
    *resource_paths("gift_cards/<card_id>/adjustments", AdjustmentViewSet, "list", "create", "retrieve"),
]
