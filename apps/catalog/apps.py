"""App config for the catalog."""

from django.apps import AppConfig


class CatalogConfig(AppConfig):
    """App config for the catalog."""

    name = "apps.catalog"

    def ready(self) -> None:
        """Register the catalog's topics, timelines, metafield owners, checks, demo data and inventory listeners."""
        from apps.catalog import demo, topics
        from apps.catalog.domain import consistency_checks, inventory_sync, orphan_images, strip_metadata, variants
        from apps.catalog.domain.collections import lifecycle
        from apps.catalog.models import Collection, CustomCollection, Product, ProductImage, SmartCollection, Variant
        from apps.catalog.privacy import NON_PERSONAL_COLUMNS
        from apps.events.domain import timelines
        from apps.ground.privacy_registry import declare_non_personal
        from apps.inventory.domain import item_names, listeners
        from apps.jobs.domain import consistency_checks as nightly
        from apps.jobs.domain import housekeeping
        from apps.media import metadata_stripping as stored_pictures
        from apps.metafields.domain.owners import register_owner
        from apps.shops.domain.currency_change import register_currency_objection
        from apps.shops.domain.demo_store import register_demo_data
        from apps.shops.domain.shop_creation import register_shop_initializer

        declare_non_personal(NON_PERSONAL_COLUMNS)
        topics.register_catalog_topics()
        register_demo_data("products", demo.load_demo_catalog)
        housekeeping.register_hourly_task("image files", orphan_images.delete_orphan_images)
        nightly.register_consistency_check("lowest prices", consistency_checks.find_wrong_lowest_prices)
        nightly.register_consistency_check("variant quantities", consistency_checks.find_wrong_quantities)
        stored_pictures.register_metadata_stripper("product images", strip_metadata.strip_product_images)
        stored_pictures.register_metadata_stripper("collection images", strip_metadata.strip_collection_images)
        register_currency_objection(variants.check_price_decimals)
        register_shop_initializer("frontpage", lifecycle.create_frontpage_collection)
        listeners.register_stock_listener(inventory_sync.sync_inventory_quantities)
        listeners.register_item_listener(inventory_sync.touch_products_of_items)
        item_names.register_item_names(
            names=inventory_sync.get_variant_item_names, matching=inventory_sync.find_variant_items
        )
        timelines.register_timeline("products", Product, scope="products")
        register_owner("products", "product", Product, scope="products")
        register_owner(
            "variants",
            "variant",
            Variant,
            scope="products",
            gid="ProductVariant",
            below="products/<product_id>/variants",
        )
        register_owner("product_images", "product_image", ProductImage, scope="products")
        kinds = {"custom_collections": CustomCollection, "smart_collections": SmartCollection}
        register_owner("collections", "collection", Collection, scope="products", kinds=kinds)
