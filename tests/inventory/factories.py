"""Factories for inventory items and locations."""

from typing import Any

from django.utils import timezone

from apps.events.models import Event
from apps.ground.tenancy import shop_scope
from apps.inventory.domain import locations, stock
from apps.inventory.models import InventoryItem, InventoryLevel, Location, StockMovement
from apps.shops.models import Shop


def make_item(shop: Shop, **fields: Any) -> InventoryItem:
    """Create an inventory item that is stocked at the primary location, with a quantity of 0."""
    values = {"sku": "MUG-1", "tracked": True, "cost": "4.50", **fields}
    with shop_scope(shop):
        return stock.create_items([values], actor="system", at=timezone.now())[0]


def make_location(shop: Shop, **fields: Any) -> Location:
    """Create a location."""
    values = {
        "name": "Depot",
        "address1": "1 Dock Road",
        "city": "Montreal",
        "zip": "H2X 1Y4",
        "province": "Quebec",
        "country": "Canada",
        "phone": "+1-514-555-0100",
        **fields,
    }
    with shop_scope(shop):
        return locations.create_location(actor="system", at=timezone.now(), **values)


def get_first_location(shop: Shop) -> Location:
    """Return the location that was created with the shop."""
    with shop_scope(shop):
        return stock.get_primary_location()


def set_stock(item: InventoryItem, location: Location, available: int) -> InventoryLevel:
    """Set the available quantity of an item at a location."""
    with shop_scope(item.shop):
        return stock.set_available(item, location, available, actor="system", at=timezone.now())


def get_available(item: InventoryItem, location: Location) -> int:
    """Return the available quantity."""
    with shop_scope(item.shop):
        return InventoryLevel.objects.get(item=item, location=location).available


def get_ledger(item: InventoryItem, location: Location) -> list[tuple[int, int, str]]:
    """Return the difference, resulting quantity and reason of each inventory change, oldest first."""
    with shop_scope(item.shop):
        rows = StockMovement.objects.filter(item=item, location=location).order_by("id")
        return list(rows.values_list("delta", "available", "reason"))


def build_level_body(item: Any, location: Any, **more: Any) -> dict[str, Any]:
    """Return the request body for an action on an inventory level."""
    return {"inventory_item_id": item.pk, "location_id": location.pk, **more}


def get_topics(shop: Shop, prefix: str) -> list[str]:
    """Return the topics of the recorded events, oldest first."""
    with shop_scope(shop):
        return list(Event.objects.filter(topic__startswith=prefix).order_by("id").values_list("topic", flat=True))
