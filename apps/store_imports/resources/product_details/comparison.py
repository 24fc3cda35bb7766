"""Compare imported products with those of the store, with their inventory items and levels."""

from collections import defaultdict
from collections.abc import Collection, Mapping

from django.conf import settings

from apps.catalog.api.serializers import ProductSerializer
from apps.inventory.api.items import InventoryItemSerializer
from apps.inventory.models import InventoryLevel
from apps.store_imports.domain.comparison import CREATED_NOW, KEEPS_HANDLE, KEEPS_TIME, OWN_ADDRESS, Comparison
from apps.store_imports.domain.source_client import SourceObject
from apps.store_imports.domain.streams import Source
from apps.store_imports.resources.rest_objects import create_reader, read_objects

COMPARISON = Comparison(
    read=create_reader(ProductSerializer),
    ids={
        "variants.id": "variant",
        "variants.product_id": "product",
        "variants.image_id": "product_image",
        "variants.inventory_item_id": "inventory_item",
        "variants.levels.location_id": "location",
        "options.product_id": "product",
        "images.id": "product_image",
        "images.product_id": "product",
        "images.variant_ids": "variant",
    },
    not_compared={
        **dict.fromkeys(
            ("variants.created_at", "variants.inventory_item.created_at", "images.created_at"), CREATED_NOW
        ),
        "*.src": OWN_ADDRESS,
        "image": "is the first of the images, which are compared",
        "variants.presentment_prices": "follow from the currencies in the settings of the shop",
        "variants.inventory_quantity": "is the sum of the inventory levels, which are compared",
        "variants.old_inventory_quantity": "is the sum of the inventory levels, which are compared",
    },
    limits={"handle": KEEPS_HANDLE, "created_at": KEEPS_TIME},
    unordered=("images.variant_ids", "variants.levels"),
)


def read_products(target_ids: Collection[int], version: str) -> Mapping[int, SourceObject]:
    """Return products of this shop with the items and levels of their variants, as a store's products are read."""
    products = read_objects(ProductSerializer, target_ids, version)
    variants = [variant for product in products.values() for variant in product["variants"]]
    item_ids = [variant["inventory_item_id"] for variant in variants]
    items = read_objects(InventoryItemSerializer, item_ids, version)
    levels: defaultdict[int, list[SourceObject]] = defaultdict(list)
    rows = InventoryLevel.objects.filter(item_id__in=item_ids)
    for item_id, location_id, available in rows.values_list("item_id", "location_id", "available"):
        levels[item_id].append({"location_id": location_id, "available": available})
    for variant in variants:
        variant["inventory_item"] = items.get(variant["inventory_item_id"], {})
        variant["levels"] = levels[variant["inventory_item_id"]]
    return products


def normalize_products(source: Source, theirs: SourceObject, ours: SourceObject) -> None:
    """Leave out levels without stock, and levels at locations that were not imported, which the import notes."""
    for product, brand in ((theirs, source.client.brand), (ours, settings.BRAND)):
        for variant in product["variants"]:
            variant["levels"] = [
                row for row in variant["levels"] if row.get("available") and not isinstance(row["location_id"], str)
            ]
            if variant.get("inventory_management") == brand:
                variant["inventory_management"] = "this platform"
