"""Find inventory levels that the store has removed."""

from collections.abc import Sequence
from dataclasses import replace

from apps.inventory.domain.stock import set_available
from apps.inventory.models import InventoryLevel
from apps.store_imports.domain.source_client import SourceObject
from apps.store_imports.domain.streams import ACTOR, ObjectResult, Outcome, Source
from apps.store_imports.resources.product_details.parts import ITEM


def clear_removed_levels(
    source: Source, products: Sequence[SourceObject], results: Sequence[ObjectResult]
) -> list[ObjectResult]:
    """Set the stock to 0 at imported locations where the store does not stock the item. Return the new results."""
    items = {part.source_id: part.target_id for result in results for part in result.parts if part.resource == ITEM}
    levels = InventoryLevel.objects.filter(item_id__in=items.values()).exclude(available=0)
    stocked = list(levels.select_related("item", "location").order_by("pk"))
    imported = source.ids.get_source_ids("location", {level.location_id for level in stocked})
    variants = [variant for product in products for variant in product["variants"]]
    location_ids = {level["location_id"] for variant in variants for level in variant["levels"]}
    locations = source.ids.get_target_ids("location", location_ids)
    listed = {
        (items.get(variant["inventory_item_id"]), locations.get(level["location_id"]))
        for variant in variants
        for level in variant["levels"]
    }
    changed_items = set()
    for level in stocked:
        if level.location_id in imported and (level.item_id, level.location_id) not in listed:
            set_available(level.item, level.location, 0, actor=ACTOR, at=source.at)
            changed_items.add(level.item_id)
    return [
        replace(result, outcome=Outcome.CHANGED)
        if result.outcome == Outcome.UNCHANGED
        and any(part.target_id in changed_items for part in result.parts if part.resource == ITEM)
        else result
        for result in results
    ]
