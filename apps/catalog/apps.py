"""The catalog app: what shops sell."""

from django.apps import AppConfig


class CatalogConfig(AppConfig):
    """Registers topics, owners of metafields, what a new shop starts with, and what follows the stock."""

    name = "apps.catalog"

    def ready(self) -> None:
        """Connect the catalog with the registries."""
        from apps.catalog import collections, demo, orphans, stock, topics
        from apps.catalog.models import Collection, CustomCollection, Product, ProductImage, SmartCollection, Variant
        from apps.inventory import listeners, naming
        from apps.jobs import housekeeping
        from apps.metafields.owners import register_owner
        from apps.shops.demo import register
        from apps.shops.services import starter

        topics.register_all()
        register("products", demo.make)
        housekeeping.register("picture files", orphans.clear)
        starter("frontpage", collections.open_with_frontpage)
        listeners.on_stock_change(stock.follow_stock)
        listeners.on_item_change(stock.follow_items)
        naming.name_items(names=stock.names_of_items, matching=stock.matching_items)
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
