"""Export products in the JSON format of the REST API, with inventory levels, costs, and collections added."""

from collections import defaultdict
from collections.abc import Sequence

from apps.catalog.api.parsing import GLOBAL_METAFIELDS
from apps.catalog.api.serializers import ProductSerializer
from apps.catalog.models import Collect
from apps.core.money import format_decimal
from apps.core.rest.reading.query_plans import get_read_plan
from apps.core.tenancy.scope import get_current_shop
from apps.imports_exports.domain.resources import ObjectData
from apps.imports_exports.resources.cells import file_context
from apps.imports_exports.resources.products.existing import get_search_texts
from apps.inventory.domain import stock
from apps.inventory.models import InventoryItem, InventoryLevel

ITEM_FIELDS = (
    "country_code_of_origin",
    "province_code_of_origin",
    "harmonized_system_code",
    "country_harmonized_system_codes",
)


def read_products(ids: Sequence[int]) -> list[ObjectData]:
    context = file_context()
    objects_by_id = get_read_plan(ProductSerializer, context.version).read_ids(ids, context)
    products = [objects_by_id[pk] for pk in ids if pk in objects_by_id]
    texts, collections = get_search_texts(ids), _get_collection_titles(ids)
    for product in products:
        product |= dict.fromkeys(GLOBAL_METAFIELDS) | texts.get(product["id"], {})
        product["collections"] = collections[product["id"]]
        product.pop("image")
    _add_inventory([variant for product in products for variant in product["variants"]])
    for product in products:
        sources = {image["id"]: image["src"] for image in product["images"]}
        for variant in product["variants"]:
            variant["image"] = sources.get(variant["image_id"])
    return products


def _get_collection_titles(ids: Sequence[int]) -> dict[int, list[str]]:
    titles: defaultdict[int, list[str]] = defaultdict(list)
    rows = Collect.objects.filter(product_id__in=ids).order_by("pk").values_list("product_id", "collection__title")
    for product_id, title in rows:
        titles[product_id].append(title)
    return titles


def _add_inventory(variants: Sequence[ObjectData]) -> None:
    currency, primary = get_current_shop().currency, stock.get_primary_location().pk
    item_ids = [variant["inventory_item_id"] for variant in variants]
    items = {row["pk"]: row for row in InventoryItem.objects.filter(pk__in=item_ids).values("pk", "cost", *ITEM_FIELDS)}
    levels: defaultdict[int, list[tuple[int, ObjectData]]] = defaultdict(list)
    rows = InventoryLevel.objects.filter(item_id__in=item_ids).order_by("item_id", "location_id")
    for item, location_id, name, available in rows.values_list("item_id", "location_id", "location__name", "available"):
        levels[item].append((location_id, {"location": name, "available": available}))
    for variant in variants:
        item, item_levels = items[variant["inventory_item_id"]], levels[variant["inventory_item_id"]]
        variant |= {name: item[name] for name in ITEM_FIELDS}
        variant["cost"] = None if item["cost"] is None else format_decimal(item["cost"], currency)
        variant["inventory_levels"] = [level for _, level in item_levels]
        variant["spread"] = [location_id for location_id, _ in item_levels] != [primary]
