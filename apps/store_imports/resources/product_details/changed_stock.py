"""Find products with changes only in the stock, which some stores do not note as a change of the product."""

from apps.catalog.models import Variant
from apps.inventory.models import InventoryLevel
from apps.store_imports.domain.streams import MAX_IDS, Source
from apps.store_imports.models import MappedId

IDS_PER_PAGE = 250


def find_products_with_changed_stock(source: Source) -> set[int]:
    """Return the source ids of imported products with changed inventory levels that are not listed as changed."""
    locations = MappedId.objects.filter(store_import_id=source.ids.import_id, resource="location")
    location_ids = list(locations.order_by("source_id").values_list("source_id", flat=True))
    product_ids: set[int] = set()
    for start in range(0, len(location_ids), MAX_IDS):
        ids = ",".join(map(str, location_ids[start : start + MAX_IDS]))
        levels = source.client.iterate_pages(
            "inventory_levels.json", "inventory_levels", location_ids=ids, **source.change_filter
        )
        item_ids: set[int] = set()
        for level in levels:
            item_ids.add(level["inventory_item_id"])
            if len(item_ids) == IDS_PER_PAGE:
                product_ids |= _find_products(source, item_ids)
                item_ids.clear()
        product_ids |= _find_products(source, item_ids)
    if source.is_thorough:
        for location in locations.order_by("source_id"):
            product_ids |= _find_removed_levels(source, location)
    return product_ids - _list_changed(source) if product_ids else product_ids


def _find_removed_levels(source: Source, location: MappedId) -> set[int]:
    """Return the source ids of products with stock at a location where the store does not stock them."""
    levels = source.client.iterate_pages("inventory_levels.json", "inventory_levels", location_ids=location.source_id)
    listed = {level["inventory_item_id"] for level in levels}
    stocked = InventoryLevel.objects.filter(location=location.target_id).exclude(available=0).order_by("item_id")
    item_ids = list(stocked.values_list("item_id", flat=True))
    removed: set[int] = set()
    for start in range(0, len(item_ids), IDS_PER_PAGE):
        source_ids = source.ids.get_source_ids("inventory_item", item_ids[start : start + IDS_PER_PAGE])
        removed |= set(source_ids.values()) - listed
    return _find_products(source, removed)


def _find_products(source: Source, source_item_ids: set[int]) -> set[int]:
    items = source.ids.get_target_ids("inventory_item", source_item_ids)
    products = Variant.objects.filter(inventory_item_id__in=items.values()).values_list("product_id", flat=True)
    return set(source.ids.get_source_ids("product", set(products)).values())


def _list_changed(source: Source) -> set[int]:
    """Return the ids of the products that the store lists as changed. They have been read already."""
    changed: set[int] = set()
    position = 0
    while page := source.client.get_page(
        "products.json", "products", since_id=position, limit=IDS_PER_PAGE, fields="id", **source.change_filter
    ):
        position = page[-1]["id"]
        changed |= {row["id"] for row in page}
    return changed
