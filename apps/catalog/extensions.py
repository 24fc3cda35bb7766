"""What the catalog adds to other apps."""

from functools import partial

from apps.catalog.domain import image_cleanup, inventory_sync, variants
from apps.catalog.domain.collections import lifecycle
from apps.catalog.domain.sales_channels import listings
from apps.catalog.models import (
    Collection,
    CustomCollection,
    Product,
    ProductFeedback,
    ProductImage,
    SmartCollection,
    Variant,
)
from apps.core.events.recording import audiences
from apps.core.media.metadata import metadata_strippers
from apps.inventory.domain.hooks import ItemNames, item_listeners, item_names, stock_listeners
from apps.metafields.domain.owners import OwnerType, owner_types
from apps.shops.domain.app_installation import uninstall_cleaners
from apps.shops.domain.feedback import delete_feedback
from apps.shops.domain.settings import currency_objections
from apps.shops.domain.shop_creation import shop_initializers

metadata_strippers.register("product images", image_cleanup.strip_product_images)
metadata_strippers.register("collection images", image_cleanup.strip_collection_images)
currency_objections.add(variants.check_price_decimals)
shop_initializers.register("frontpage", lifecycle.create_frontpage_collection)
audiences.register(listings.get_api_versions, listings.record_listing_events)
uninstall_cleaners.register("listings", listings.delete_listings)
uninstall_cleaners.register("product feedback", partial(delete_feedback, ProductFeedback))
stock_listeners.add(inventory_sync.sync_inventory_quantities)
item_listeners.add(inventory_sync.touch_products_of_items)
item_names.register(
    "variants",
    ItemNames(
        inventory_sync.get_variant_item_names, inventory_sync.find_variant_items, inventory_sync.find_barcode_items
    ),
)
owner_types.add(
    OwnerType("products", "product", Product, scope="products"),
    OwnerType(
        "variants",
        "variant",
        Variant,
        scope="products",
        gid_type="ProductVariant",
        nested_path="products/<product_id>/variants",
    ),
    OwnerType("product_images", "product_image", ProductImage, scope="products"),
    OwnerType(
        "collections",
        "collection",
        Collection,
        scope="products",
        extra_paths={"custom_collections": CustomCollection, "smart_collections": SmartCollection},
    ),
)
