"""The tables of inventory."""

from apps.inventory.models.inventory import MAX_AVAILABLE, InventoryItem, InventoryLevel, Location, StockMovement

__all__ = ["MAX_AVAILABLE", "InventoryItem", "InventoryLevel", "Location", "StockMovement"]
