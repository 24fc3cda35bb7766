from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.inventory.domain import locations, movements, receipts, stock, transfers
from apps.inventory.domain.movements import StockChange
from apps.inventory.models import InventoryItem, InventoryLevel, Location, StockMovement, StockReceipt, StockTransfer
from tests.support.types import JsonObject


def make_item(shop: Shop, **fields: object) -> InventoryItem:
    """Create an inventory item that is stocked at the primary location, with a quantity of 0."""
    values = {"sku": "MUG-1", "tracked": True, "cost": "4.50", **fields}
    with shop_scope(shop):
        return stock.create_items([values], actor="system", at=timezone.now())[0]


def make_location(shop: Shop, **fields: object) -> Location:
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
    with shop_scope(shop):
        return stock.get_primary_location()


def set_stock(item: InventoryItem, location: Location, available: int) -> InventoryLevel:
    with shop_scope(item.shop):
        return stock.set_available(item, location, available, actor="system", at=timezone.now())


@transaction.atomic
def sell(
    item: InventoryItem, location: Location, quantity: int, *, oversell: bool = False, **by: Any
) -> InventoryLevel:
    change = StockChange(item.pk, location.pk, -quantity, may_oversell=oversell, connect=oversell)
    return movements.apply_stock_changes([change], reason=StockMovement.Reason.SALE, **by)[0]


@transaction.atomic
def restock(item: InventoryItem, location: Location, quantity: int, **by: Any) -> InventoryLevel:
    change = StockChange(item.pk, location.pk, quantity, connect=True)
    return movements.apply_stock_changes([change], reason=StockMovement.Reason.RESTOCK, **by)[0]


def make_receipt(item: InventoryItem, quantity: int = 5, **fields: Any) -> StockReceipt:
    """Create a draft of a stock receipt with one line, at the primary location."""
    values = {"location_id": get_first_location(item.shop).pk, "reason": "received", **fields}
    with shop_scope(item.shop):
        return receipts.create_receipt(quantities={item.pk: quantity}, actor="system", at=timezone.now(), **values)


def make_transfer(item: InventoryItem, destination: Location, quantity: int = 5, **fields: Any) -> StockTransfer:
    """Create a draft of a stock transfer with one line, from the primary location."""
    values = {"origin_id": get_first_location(item.shop).pk, "destination_id": destination.pk, **fields}
    with shop_scope(item.shop):
        return transfers.create_transfer(quantities={item.pk: quantity}, actor="system", at=timezone.now(), **values)


def get_available(item: InventoryItem, location: Location) -> int:
    with shop_scope(item.shop):
        return InventoryLevel.objects.get(item=item, location=location).available


def get_ledger(item: InventoryItem, location: Location) -> list[tuple[int, int, str]]:
    """Return the difference, resulting quantity and reason of each inventory change, oldest first."""
    with shop_scope(item.shop):
        rows = StockMovement.objects.filter(item=item, location=location).order_by("id")
        return list(rows.values_list("delta", "available", "reason"))


def build_level_body(item: InventoryItem, location: Location, **more: object) -> JsonObject:
    return {"inventory_item_id": item.pk, "location_id": location.pk, **more}


def get_topics(shop: Shop, prefix: str) -> list[str]:
    with shop_scope(shop):
        return list(Event.objects.filter(topic__startswith=prefix).order_by("id").values_list("topic", flat=True))
