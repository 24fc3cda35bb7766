from apps.core.types import Attrs
from apps.inventory.models import InventoryItem
from tests.samples import SampleContext, register_sample
from tests.support.factories.inventory import get_first_location, make_item, make_location, set_stock


def make_level(world: SampleContext) -> Attrs:
    item, location = make_item(world.shop), get_first_location(world.shop)
    return {"id": item.pk, "location_id": location.pk, "inventory_item_id": item.pk}


def make_two_levels(world: SampleContext) -> Attrs:
    rows = make_level(world)
    set_stock(InventoryItem.objects.get(pk=rows["inventory_item_id"]), make_location(world.shop), 1)
    return rows


def make_location_id(world: SampleContext) -> Attrs:
    return {"id": get_first_location(world.shop).pk}


def make_item_id(world: SampleContext) -> Attrs:
    return {"id": make_item(world.shop).pk}


def build_level_ids(rows: Attrs) -> Attrs:
    return {name: rows[name] for name in ("location_id", "inventory_item_id")}


register_sample("GET locations.json")
register_sample("GET locations/count.json")
register_sample("GET locations/<id>.json", arrange=make_location_id)
register_sample("GET locations/<location_id>/inventory_levels.json", arrange=make_level)
register_sample("GET inventory_items.json", arrange=make_item_id, query=lambda rows: {"ids": rows["id"]})
register_sample("GET inventory_items/<id>.json", arrange=make_item_id)
register_sample(
    "PUT inventory_items/<id>.json", {"inventory_item": {"sku": "MUG-2", "cost": "5.25"}}, arrange=make_item_id
)
register_sample(
    "GET inventory_levels.json",
    arrange=make_level,
    query=lambda rows: {"inventory_item_ids": rows["inventory_item_id"], "location_ids": rows["location_id"]},
)
register_sample(
    "POST inventory_levels/set.json", lambda rows: build_level_ids(rows) | {"available": 3}, arrange=make_level
)
register_sample(
    "POST inventory_levels/adjust.json",
    lambda rows: build_level_ids(rows) | {"available_adjustment": 3},
    arrange=make_level,
)
register_sample("POST inventory_levels/connect.json", build_level_ids, arrange=make_level, status=201)
register_sample("DELETE inventory_levels.json", arrange=make_two_levels, query=build_level_ids)
register_sample("POST inventory_levels/disconnect.json", build_level_ids, arrange=make_two_levels)
