"""Panel pages for inventory items, locations and inventory changes."""

from apps.inventory.admin.items import InventoryItemAdmin
from apps.inventory.admin.locations import LocationAdmin
from apps.inventory.admin.movements import StockMovementAdmin
from apps.staff.domain.permissions import grant_permissions

grant_permissions("locations", "vac", "inventory.location")
grant_permissions("products", "v", "inventory.location", "inventory.stockmovement")
grant_permissions("products", "vc", "inventory.inventoryitem")

__all__ = ["InventoryItemAdmin", "LocationAdmin", "StockMovementAdmin"]
