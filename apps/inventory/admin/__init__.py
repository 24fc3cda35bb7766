"""The staff face of inventory: locations, the stock grid, items, and every movement."""

from apps.inventory.admin.items import InventoryItemAdmin
from apps.inventory.admin.locations import LocationAdmin
from apps.inventory.admin.movements import StockMovementAdmin
from apps.staff.domain.permissions import grant

grant("locations", "vac", "inventory.location")
grant("products", "v", "inventory.location", "inventory.stockmovement")
grant("products", "vc", "inventory.inventoryitem")

__all__ = ["InventoryItemAdmin", "LocationAdmin", "StockMovementAdmin"]
