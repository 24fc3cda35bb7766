"""Import the stock of variants at locations, and export it in the same table."""

from collections import defaultdict
from collections.abc import Sequence

from django.utils.translation import gettext_lazy

from apps.catalog.models import ProductOption, Variant
from apps.imports_exports.domain.resources import Exporter, Importer, ObjectData, Resource
from apps.imports_exports.domain.rows import RowResult
from apps.imports_exports.resources.inventory import importer, table
from apps.inventory.models import InventoryItem, InventoryLevel

_MEMBERS = (
    "sku",
    "handle",
    "title",
    "options",
    "option_names",
    "harmonized_system_code",
    "country_code_of_origin",
    "levels",
)


def _read_levels(ids: Sequence[int]) -> list[ObjectData]:
    """Return levels with the names of their variants. The level of a deleted variant is left out."""
    levels = InventoryLevel.objects.filter(pk__in=ids).select_related("item", "location").in_bulk()
    rows = Variant.objects.filter(inventory_item__in=[level.item_id for level in levels.values()])
    variants = {row.inventory_item_id: row for row in rows.select_related("product")}
    option_names: defaultdict[int, list[str]] = defaultdict(list)
    options = ProductOption.objects.filter(product__in={row.product_id for row in variants.values()})
    for product_id, name in options.order_by("product_id", "position").values_list("product_id", "name"):
        option_names[product_id].append(name)
    return [
        _render(levels[pk], variants[levels[pk].item_id], option_names[variants[levels[pk].item_id].product_id])
        for pk in ids
        if pk in levels and levels[pk].item_id in variants
    ]


def _render(level: InventoryLevel, variant: Variant, option_names: Sequence[str]) -> ObjectData:
    return {
        "sku": level.item.sku,
        "handle": variant.product.handle,
        "title": variant.product.title,
        "options": list(variant.options),
        "option_names": list(option_names),
        "harmonized_system_code": level.item.harmonized_system_code,
        "country_code_of_origin": level.item.country_code_of_origin,
        "levels": [{"location": level.location.name, "available": level.available}],
    }


INVENTORY = Resource(
    name="inventory",
    label=gettext_lazy("Inventory"),
    singular="inventory_level",
    exporter=Exporter(
        model=InventoryLevel,
        permission="inventory.export_inventorylevel",
        granted_by="export_products",
        topic="inventory/export",
        columns=table.EXPORTED_COLUMNS,
        read_objects=_read_levels,
        get_cells=table.convert_to_rows,
    ),
    importer=Importer(
        permission="inventory.change_inventoryitem",
        granted_by="products",
        models=(InventoryItem, InventoryLevel),
        columns=table.COLUMNS,
        aliases=table.ALIASES,
        field_columns={f"levels.{name}": column for column, name in table.QUANTITIES.items()},
        unsupported=table.UNSUPPORTED,
        members=frozenset(_MEMBERS),
        find_names=table.find_column_names,
        get_more_columns=table.get_location_columns,
        body=table.parse_row,
        keys=importer.get_keys,
        duplicate_result=RowResult.CHANGED,
        import_rows=importer.import_rows,
        find=importer.find_items,
        describe_missing=importer.describe_missing,
    ),
)
