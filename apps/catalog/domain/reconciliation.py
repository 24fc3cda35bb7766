"""Do the figures that lists of products are sorted by say what their variants and stock say?"""

from collections.abc import Iterator
from decimal import Decimal

from django.db.models import F, Min, Sum
from django.db.models.functions import Coalesce

from apps.catalog.models import Product, Variant


def prices() -> Iterator[str]:
    """Products whose lowest price is not the lowest of their variants."""
    found = Product.objects.annotate(least=Coalesce(Min("variants__price"), Decimal(0))).exclude(
        lowest_price=F("least")
    )
    for product in found.order_by("pk").iterator():
        yield (
            f"shop {product.shop_id}, product {product.pk}: lowest price {product.lowest_price.normalize():f},"
            f" of its variants {product.least.normalize():f}"
        )


def quantities() -> Iterator[str]:
    """Variants whose quantity is not what lies at the locations."""
    found = Variant.objects.annotate(there=Coalesce(Sum("inventory_item__levels__available"), 0))
    for variant in found.exclude(inventory_quantity=F("there")).order_by("pk").iterator():
        yield (
            f"shop {variant.shop_id}, variant {variant.pk}: quantity {variant.inventory_quantity},"
            f" at its locations {variant.there}"
        )
