"""Products as they go out: as the interface shows them, with what it shows elsewhere (stock, costs, collections)."""

from collections import defaultdict
from collections.abc import Sequence

from apps.api.rows.plans import plan_for
from apps.catalog.api.bodies import GLOBAL
from apps.catalog.api.resources import ProductSerializer
from apps.catalog.models import Collect
from apps.exchange.domain.kinds import Shown
from apps.exchange.kinds.interface import file_context
from apps.exchange.kinds.products.known import texts_of
from apps.ground.money import text_of
from apps.ground.tenancy import current_shop
from apps.inventory.domain import stock
from apps.inventory.models import InventoryItem, InventoryLevel

ITEM = (
    "country_code_of_origin",
    "province_code_of_origin",
    "harmonized_system_code",
    "country_harmonized_system_codes",
)


def read_products(ids: Sequence[int]) -> list[Shown]:
    """Products whole, in the order of their ids."""
    context = file_context()
    objects = plan_for(ProductSerializer, context.version).read_ids(ids, context)
    products = [objects[pk] for pk in ids if pk in objects]
    texts, collections = texts_of(ids), _collections_of(ids)
    for product in products:
        product |= {**dict.fromkeys(GLOBAL), **texts.get(product["id"], {}), "collections": collections[product["id"]]}
        product.pop("image")
    _complete_variants([variant for product in products for variant in product["variants"]])
    for product in products:
        sources = {image["id"]: image["src"] for image in product["images"]}
        for variant in product["variants"]:
            variant["image"] = sources.get(variant["image_id"])
    return products


def _collections_of(ids: Sequence[int]) -> dict[int, list[str]]:
    """The titles of the custom collections that products are in."""
    titles: defaultdict[int, list[str]] = defaultdict(list)
    rows = Collect.objects.filter(product_id__in=ids).order_by("pk").values_list("product_id", "collection__title")
    for product_id, title in rows:
        titles[product_id].append(title)
    return titles


def _complete_variants(variants: Sequence[Shown]) -> None:
    """Add what their inventory items say, and where how many lie."""
    currency, primary = current_shop().currency, stock.primary_location().pk
    wanted = [variant["inventory_item_id"] for variant in variants]
    items = {row["pk"]: row for row in InventoryItem.objects.filter(pk__in=wanted).values("pk", "cost", *ITEM)}
    levels: defaultdict[int, list[tuple[int, Shown]]] = defaultdict(list)
    rows = InventoryLevel.objects.filter(item_id__in=wanted).order_by("item_id", "location_id")
    for item, place, name, available in rows.values_list("item_id", "location_id", "location__name", "available"):
        levels[item].append((place, {"location": name, "available": available}))
    for variant in variants:
        item, found = items[variant["inventory_item_id"]], levels[variant["inventory_item_id"]]
        variant |= {name: item[name] for name in ITEM}
        variant["cost"] = text_of(item["cost"], currency) if item["cost"] else None
        variant["inventory_levels"] = [level for _, level in found]
        variant["spread"] = [place for place, _ in found] != [primary]
