"""Requests for locations, inventory items and levels."""

from typing import Any

from apps.inventory.models import InventoryItem
from tests.inventory.factories import first_location, make_item, make_location, put
from tests.samples import World, sample


def stocked(world: World) -> dict[str, Any]:
    item, location = make_item(world.shop), first_location(world.shop)
    return {"id": item.pk, "location_id": location.pk, "inventory_item_id": item.pk}


def stocked_twice(world: World) -> dict[str, Any]:
    """Create an item that is stocked at two locations."""
    rows = stocked(world)
    put(InventoryItem.objects.get(pk=rows["inventory_item_id"]), make_location(world.shop), 1)
    return rows


def one_location(world: World) -> dict[str, Any]:
    return {"id": first_location(world.shop).pk}


def one_item(world: World) -> dict[str, Any]:
    return {"id": make_item(world.shop).pk}


def both(rows: dict[str, Any]) -> dict[str, Any]:
    return {name: rows[name] for name in ("location_id", "inventory_item_id")}


sample("GET locations.json")
sample("GET locations/count.json")
sample("GET locations/<id>.json", arrange=one_location)
sample("GET locations/<location_id>/inventory_levels.json", arrange=stocked)
sample("GET inventory_items.json", arrange=one_item, query=lambda rows: {"ids": rows["id"]})
sample("GET inventory_items/<id>.json", arrange=one_item)
sample("PUT inventory_items/<id>.json", {"inventory_item": {"sku": "MUG-2", "cost": "5.25"}}, arrange=one_item)
sample(
    "GET inventory_levels.json",
    arrange=stocked,
    query=lambda rows: {"inventory_item_ids": rows["inventory_item_id"], "location_ids": rows["location_id"]},
)
sample("POST inventory_levels/set.json", lambda rows: both(rows) | {"available": 3}, arrange=stocked)
sample("POST inventory_levels/adjust.json", lambda rows: both(rows) | {"available_adjustment": 3}, arrange=stocked)
sample("POST inventory_levels/connect.json", both, arrange=stocked, status=201)
sample("DELETE inventory_levels.json", arrange=stocked_twice, query=both)
