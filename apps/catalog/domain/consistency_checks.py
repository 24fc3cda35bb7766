"""Check that denormalized prices and quantities match the rows they are derived from."""

from collections.abc import Iterator
from decimal import Decimal

from django.db.models import F, Min, Sum
from django.db.models.functions import Coalesce

from apps.catalog.models import Product, Variant


def find_wrong_lowest_prices() -> Iterator[str]:
    mismatches = Product.objects.annotate(least=Coalesce(Min("variants__price"), Decimal(0))).exclude(
        lowest_price=F("least")
    )
    for product in mismatches.order_by("pk").iterator():
        yield (
            f"shop {product.shop_id}, product {product.pk}: the lowest price is {product.lowest_price.normalize():f},"
            f" but the cheapest variant costs {product.least.normalize():f}"
        )


def find_wrong_quantities() -> Iterator[str]:
    mismatches = Variant.objects.annotate(there=Coalesce(Sum("inventory_item__levels__available"), 0))
    for variant in mismatches.exclude(inventory_quantity=F("there")).order_by("pk").iterator():
        yield (
            f"shop {variant.shop_id}, variant {variant.pk}: the quantity is {variant.inventory_quantity},"
            f" but the inventory levels add up to {variant.there}"
        )
