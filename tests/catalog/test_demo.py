"""Tests that the demo shop's catalog is complete and identical each time."""

from datetime import UTC, datetime

from django.db.models import Count

from apps.catalog.demo import load_demo_catalog
from apps.catalog.demo.images import COLORS, SHAPES, draw_product
from apps.catalog.domain.collections.membership import get_collection_products
from apps.catalog.models import Collection, Product, ProductImage, Variant
from apps.inventory.demo import load_demo_locations as make_locations
from apps.inventory.models import InventoryLevel
from apps.shops.models import Shop
from tests.media.images import decode_image

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def test_the_demo_store_is_full(in_shop: Shop) -> None:
    make_locations(in_shop, NOON)

    load_demo_catalog(in_shop, NOON)

    assert Product.objects.count() >= 50
    assert not Product.objects.annotate(pictures=Count("images")).filter(pictures=0).exists()
    assert Collection.objects.filter(kind="custom").count() == 6
    assert Collection.objects.filter(kind="smart").count() == 5
    assert all(get_collection_products(collection).exists() for collection in Collection.objects.all())
    stocked = InventoryLevel.objects.filter(available__gt=0).values_list("location_id").annotate(Count("pk"))
    assert len(stocked) == 3
    assert Variant.objects.filter(inventory_quantity=0).exists()
    assert ProductImage.objects.filter(variants__isnull=False).exists()
    assert Product.objects.filter(published_at__gt=NOON).count() == 0


def test_pictures_are_the_same_each_time() -> None:
    for shape in SHAPES:
        first, second = (draw_product(shape, COLORS["Moss"], shape) for _ in range(2))

        assert first == second
        assert decode_image(first).size == (640, 640)
