"""The catalog app: what shops sell."""

from django.apps import AppConfig


class CatalogConfig(AppConfig):
    """Registers topics, timelines, owners of metafields, what a new shop starts with, and what follows the stock."""

    name = "apps.catalog"

    def ready(self) -> None:
        """Connect the catalog with the registries."""
        from apps.catalog import demo, topics
        from apps.catalog.domain import cleaning, orphans, reconciliation, stock, variants
        from apps.catalog.domain.collections import lifecycle
        from apps.catalog.impersonal import IMPERSONAL
        from apps.catalog.models import Collection, CustomCollection, Product, ProductImage, SmartCollection, Variant
        from apps.events.domain import timelines
        from apps.ground.personal import impersonal
        from apps.inventory.domain import listeners, naming
        from apps.jobs.domain import housekeeping
        from apps.jobs.domain import reconciliation as nightly
        from apps.media import cleaning as stored_pictures
        from apps.metafields.domain.owners import register_owner
        from apps.shops.domain.currency import on_currency_change
        from apps.shops.domain.demo_store import register
        from apps.shops.domain.opening import starter

        impersonal(IMPERSONAL)
        topics.register_all()
        register("products", demo.make)
        housekeeping.register("picture files", orphans.clear)
        nightly.register("lowest prices", reconciliation.prices)
        nightly.register("quantities of variants", reconciliation.quantities)
        stored_pictures.register("pictures of products", cleaning.clean_products)
        stored_pictures.register("pictures of collections", cleaning.clean_collections)
        on_currency_change(variants.object_to_currency)
        starter("frontpage", lifecycle.open_with_frontpage)
        listeners.on_stock_change(stock.follow_stock)
        listeners.on_item_change(stock.follow_items)
        naming.name_items(names=stock.names_of_items, matching=stock.matching_items)
        timelines.register("products", Product, scope="products")
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
