"""Functions that fill lists with so many rows that PostgreSQL reads them by index."""

from datetime import timedelta
from decimal import Decimal

from django.utils import timezone

from apps.catalog.models import Product, Variant
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.models import Customer
from apps.inventory.models import InventoryItem, InventoryLevel
from apps.orders.models import Order
from tests.support.databases.statistics import collect_statistics
from tests.support.factories.inventory import get_first_location

ROWS = 6_000


def create_products(shop: Shop) -> None:
    """Create products with one variant each: titles, vendors, SKUs and prices differ."""
    items = InventoryItem.objects.bulk_create(
        InventoryItem(shop=shop, sku=f"S{number:05}", tracked=True) for number in range(ROWS)
    )
    products = Product.objects.bulk_create(
        Product(shop=shop, title=f"Thing {number:05}", handle=f"thing-{number}", vendor=f"Vendor {number % 500}")
        for number in range(ROWS)
    )
    Variant.objects.bulk_create(
        Variant(
            shop=shop,
            product=product,
            inventory_item=item,
            title=f"Form {item.sku}",
            price=Decimal(number) / 100,
        )
        for number, (product, item) in enumerate(zip(products, items, strict=True))
    )


def fill_lists(shop: Shop) -> None:
    """Create products with stock, customers and open orders, and collect statistics."""
    with shop_scope(shop):
        create_products(shop)
        location = get_first_location(shop)
        InventoryLevel.objects.bulk_create(
            InventoryLevel(shop=shop, item_id=pk, location=location, available=number, is_low=number < 20)
            for number, pk in enumerate(InventoryItem.objects.order_by("pk").values_list("pk", flat=True))
        )
        Customer.objects.bulk_create(
            Customer(shop=shop, first_name=f"Ada {number}", total_spent=Decimal(number), orders_count=number // 10)
            for number in range(ROWS)
        )
        now = timezone.now()
        Order.objects.bulk_create(
            Order(
                shop=shop,
                number=number,
                name=f"#{number}",
                currency="USD",
                presentment_currency="USD",
                total_price=Decimal(number * 7 % ROWS),
                processed_at=now - timedelta(hours=ROWS - number),
            )
            for number in range(ROWS)
        )
        collect_statistics()
