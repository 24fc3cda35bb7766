"""Models for the inventory app."""

from apps.inventory.models.inventory import (
    HS_CODE,
    MAX_AVAILABLE,
    InventoryItem,
    InventoryLevel,
    Location,
    StockMovement,
)
