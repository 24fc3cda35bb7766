from apps.core.rest.routing import api_path, resource_paths
from apps.inventory.api.items import InventoryItemViewSet
from apps.inventory.api.levels import InventoryLevelViewSet
from apps.inventory.api.locations import LevelsOfLocationViewSet, LocationViewSet

urlpatterns = [
    *resource_paths("locations", LocationViewSet, "list", "count", "retrieve"),
    api_path("locations/<location_id>/inventory_levels.json", LevelsOfLocationViewSet, get="list"),
    *resource_paths("inventory_items", InventoryItemViewSet, "list", "retrieve", "update"),
    api_path("inventory_levels.json", InventoryLevelViewSet, get="list", delete="destroy"),
    api_path("inventory_levels/set.json", InventoryLevelViewSet, post="set"),
    api_path("inventory_levels/adjust.json", InventoryLevelViewSet, post="adjust"),
    api_path("inventory_levels/connect.json", InventoryLevelViewSet, post="connect"),
    api_path("inventory_levels/disconnect.json", InventoryLevelViewSet, post="disconnect"),
]
