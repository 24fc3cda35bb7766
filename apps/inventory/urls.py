from apps.core.rest.routing import api_path
from apps.inventory.api.items import InventoryItemViewSet
from apps.inventory.api.levels import InventoryLevelViewSet
from apps.inventory.api.locations import LevelsOfLocationViewSet, LocationViewSet

urlpatterns = [
    api_path("locations.json", LocationViewSet, get="list"),
    api_path("locations/count.json", LocationViewSet, get="count"),
    api_path("locations/<id>.json", LocationViewSet, get="retrieve"),
    api_path("locations/<location_id>/inventory_levels.json", LevelsOfLocationViewSet, get="list"),
    api_path("inventory_items.json", InventoryItemViewSet, get="list"),
    api_path("inventory_items/<id>.json", InventoryItemViewSet, get="retrieve", put="update"),
    api_path("inventory_levels.json", InventoryLevelViewSet, get="list", delete="destroy"),
    api_path("inventory_levels/set.json", InventoryLevelViewSet, post="set"),
    api_path("inventory_levels/adjust.json", InventoryLevelViewSet, post="adjust"),
    api_path("inventory_levels/connect.json", InventoryLevelViewSet, post="connect"),
]
