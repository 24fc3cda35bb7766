"""The routes of inventory, as the specification writes them."""

from apps.api.routing import route
from apps.inventory.api.items import InventoryItemViewSet
from apps.inventory.api.levels import InventoryLevelViewSet
from apps.inventory.api.locations import LevelsOfLocationViewSet, LocationViewSet

urlpatterns = [
    route("locations.json", LocationViewSet, get="list"),
    route("locations/count.json", LocationViewSet, get="count"),
    route("locations/<id>.json", LocationViewSet, get="retrieve"),
    route("locations/<location_id>/inventory_levels.json", LevelsOfLocationViewSet, get="list"),
    route("inventory_items.json", InventoryItemViewSet, get="list"),
    route("inventory_items/<id>.json", InventoryItemViewSet, get="retrieve", put="update"),
    route("inventory_levels.json", InventoryLevelViewSet, get="list", delete="destroy"),
    route("inventory_levels/set.json", InventoryLevelViewSet, post="set"),
    route("inventory_levels/adjust.json", InventoryLevelViewSet, post="adjust"),
    route("inventory_levels/connect.json", InventoryLevelViewSet, post="connect"),
]
