"""Things to stock, and where."""

from typing import Any

from django.utils import timezone

from apps.events.models import Event
from apps.ground.tenancy import shop_scope
from apps.inventory.domain import locations, stock
from apps.inventory.models import InventoryItem, InventoryLevel, Location, StockMovement
from apps.shops.models import Shop


def make_item(shop: Shop, **fields: Any) -> InventoryItem:
    """An item as its variant makes it: stocked at the primary location, with none available."""
    values = {"sku": "MUG-1", "tracked": True, "cost": "4.50", **fields}
    with shop_scope(shop):
        return stock.create_items([values], actor="system", at=timezone.now())[0]


def make_location(shop: Shop, **fields: Any) -> Location:
    """One more location."""
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


def first_location(shop: Shop) -> Location:
    """The location that the shop was opened with."""
    with shop_scope(shop):
        return stock.get_primary_location()


def put(item: InventoryItem, location: Location, available: int) -> InventoryLevel:
    """Have so many of an item at a location."""
    with shop_scope(item.shop):
        return stock.set_available(item, location, available, actor="system", at=timezone.now())


def level_of(item: InventoryItem, location: Location) -> int:
    """How many are there now."""
    with shop_scope(item.shop):
        return InventoryLevel.objects.get(item=item, location=location).available


def ledger_of(item: InventoryItem, location: Location) -> list[tuple[int, int, str]]:
    """The movements, oldest first: how many, how many then, why."""
    with shop_scope(item.shop):
        rows = StockMovement.objects.filter(item=item, location=location).order_by("id")
        return list(rows.values_list("delta", "available", "reason"))


def body_of(item: Any, location: Any, **more: Any) -> dict[str, Any]:
    """The body of an action on a level."""
    return {"inventory_item_id": item.pk, "location_id": location.pk, **more}


def topics_of(shop: Shop, prefix: str) -> list[str]:
    """The topics recorded so far, oldest first."""
    with shop_scope(shop):
        return list(Event.objects.filter(topic__startswith=prefix).order_by("id").values_list("topic", flat=True))
