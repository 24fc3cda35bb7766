"""Models for the inventory app."""

from apps.inventory.models.items import HS_CODE, InventoryItem
from apps.inventory.models.levels import MAX_AVAILABLE, InventoryLevel, StockMovement
from apps.inventory.models.locations import Location

__all__ = ["HS_CODE", "MAX_AVAILABLE", "InventoryItem", "InventoryLevel", "Location", "StockMovement"]
