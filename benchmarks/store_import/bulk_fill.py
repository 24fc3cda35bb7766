"""Create the store's shop and fill it from files: ``python -m benchmarks.store_import.bulk_fill --products 1000``.

The module runs in a separate process with the settings of the store, because an import into another installation has
other settings. The last line of the output is a JSON object with access tokens.
"""

import argparse
import json
import os
from collections.abc import Iterator

import django

from benchmarks import imports
from benchmarks.store_import.samples import UNFULFILLED

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")

THEMES = ("Summer", "Autumn", "Winter")


def build_orders(first: int, last: int, *, products: int, customers: int) -> Iterator[dict[str, object]]:
    """Yield paid orders of the customers and products of ``benchmarks.imports``. One of fifty is not fulfilled."""
    for number in range(first, last):
        email = f"ada{number % customers}@example.com"
        lines = [(number % products, "S", 2), ((number * 7 + 1) % products, "M", 1)]
        yield {
            "order": {
                "id": number + 1,
                "email": email,
                "customer": {"email": email},
                "created_at": f"2026-0{number % 9 + 1}-02T12:30:00Z",
                "financial_status": "paid",
                "fulfillment_status": None if number % 50 == UNFULFILLED else "fulfilled",
                "line_items": [
                    {
                        "title": f"Mug {product}",
                        "variant_title": size,
                        "sku": f"M{product}-{size}",
                        "quantity": quantity,
                        "price": "12.50",
                    }
                    for product, size, quantity in lines
                ],
            }
        }


def build_products(first: int, last: int) -> Iterator[dict[str, object]]:
    """Yield the products of ``benchmarks.imports`` for an installation with another brand."""
    from django.conf import settings

    for body in imports.build_products(first, last):
        product = body["product"]
        assert isinstance(product, dict)
        variants = [variant | {"inventory_management": settings.BRAND} for variant in product["variants"]]
        yield {"product": product | {"variants": variants}}


def create_store(products: int, customers: int, orders: int, tokens: int) -> list[str]:
    """Create a shop with empty themes, staff and bulk data. Return the access tokens of as many apps."""
    from django.utils import timezone

    from apps.content.domain.themes import create_empty_theme
    from apps.core.tenancy.scope import shop_scope
    from tests.support import factories
    from tests.support.factories.inventory import make_location

    now = timezone.now()
    shop = factories.make_shop(domain="old.example", name="Old store", plan="premium")
    factories.make_member(shop, owner=True, email="owner@old.example", first_name="Bo")
    factories.make_member(shop, "orders", "products", email="worker@old.example", first_name="Wim")
    with shop_scope(shop):
        make_location(shop, name="Depot")
        for name in THEMES:
            create_empty_theme(name=name, created_at=now, actor="system", at=now)
        imports.import_bodies("products", build_products(0, products))
        imports.import_bodies("customers", imports.build_customers(0, customers))
        imports.import_bodies("orders", build_orders(0, orders, products=products, customers=customers))
    return [factories.make_token(factories.make_installation(shop)) for _ in range(tokens)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("products", "customers", "orders", "tokens"):
        parser.add_argument(f"--{name}", type=int, required=True)
    options = parser.parse_args()
    django.setup()
    tokens = create_store(options.products, options.customers, options.orders, options.tokens)
    print(json.dumps({"tokens": tokens}))


if __name__ == "__main__":
    main()
