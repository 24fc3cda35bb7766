"""Measure a page of a collection's products in every sort order, compared with a page sorted by id in the same run.

``python -m benchmarks.sort_orders`` fills a new shop in the migrated database of ``DATABASE_URL`` with 10,000 products,
each with three variants and two images. For a custom and a smart collection, it prints the time of an uncached page of
250 products and its ratio to the time of a page sorted by id, which must be at most 3.
"""

import os
import time
from decimal import Decimal
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.scale import scale

if TYPE_CHECKING:
    from django.test import Client

    from apps.catalog.models import Collection
    from apps.core.tenancy.models import Shop

PAGE = 250
PRODUCTS = scale(10_000, least=PAGE)
ROUNDS = scale(7)


def main() -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
    os.environ["BACKOFFICE_RATE_LIMIT"] = "off"
    django.setup()

    from django.test import Client
    from django.utils import timezone

    from apps.catalog.domain.collections.membership import ORDERS
    from apps.catalog.models import Collection
    from apps.core.tenancy.scope import shop_scope
    from apps.shops.domain import app_installation, shop_creation, tokens

    now = timezone.now()
    domain = f"collections-{time.time_ns()}.example"
    shop = shop_creation.create_shop(domain=domain, name="Collections", email="a@bench.example", actor="system", at=now)
    installation = app_installation.install_app(
        app_installation.create_app(name="Bench"), shop, scopes="read_products", actor="system", at=now
    )
    token = tokens.issue_token(installation, actor="system", at=now)
    client = Client(headers={"X-Platform-Access-Token": token})
    with shop_scope(shop):
        collections = fill_collections(shop, PRODUCTS)
    for collection in collections:
        by_id = measure_page(client, collection.pk, "since_id=1")
        print(f"{collection.kind}: by id {by_id:.1f} ms")
        for order in ORDERS:
            with shop_scope(shop):
                Collection.objects.filter(pk=collection.pk).update(sort_order=order)
            ms = measure_page(client, collection.pk, "")
            print(f"  {order:14} {ms:6.1f} ms  {ms / by_id:4.2f} x  {'ok' if ms <= 3 * by_id else 'MISSED'}")


def fill_collections(shop: "Shop", products: int) -> "tuple[Collection, Collection]":
    """Create products, and a custom and a smart collection with all products, in the current shop."""
    from django.utils import timezone

    from apps.catalog.domain.collections import lifecycle
    from apps.catalog.models import Collect, Collection, Product, ProductImage, Variant
    from apps.core.db import planner_statistics
    from apps.inventory.models import InventoryItem

    rows = Product.objects.bulk_create(
        Product(
            shop=shop,
            title=f"Mug {(number * 7919) % products:05d}",
            handle=f"mug-{number}",
            tags="all",
            lowest_price=Decimal((number * 104729) % 5000) / 100,
            units_sold=(number * 31) % 97,
        )
        for number in range(products)
    )
    items = InventoryItem.objects.bulk_create(InventoryItem(shop=shop) for _ in range(3 * products))
    Variant.objects.bulk_create(
        Variant(
            shop=shop,
            product=rows[number // 3],
            inventory_item=item,
            option1=str(number % 3),
            position=number % 3 + 1,
            price=rows[number // 3].lowest_price + number % 3,
        )
        for number, item in enumerate(items)
    )
    ProductImage.objects.bulk_create(
        ProductImage(
            shop=shop, product=row, position=index, key=f"{row.pk:031x}{index}", name="a.png", width=1, height=1
        )
        for row in rows
        for index in (1, 2)
    )
    actor_fields: dict[str, Any] = {"actor": "system", "at": timezone.now()}
    parts = lifecycle.CollectionParts
    custom = lifecycle.create_collection(Collection.Kind.CUSTOM, {"title": "All"}, parts(), **actor_fields)
    Collect.objects.bulk_create(
        Collect(shop=shop, collection=custom, product=row, position=number)
        for number, row in enumerate(reversed(rows), start=1)
    )
    rules = [
        {"column": "variant_price", "relation": "greater_than", "condition": "0.01"},
        {"column": "title", "relation": "contains", "condition": "mug"},
    ]
    smart = lifecycle.create_collection(
        Collection.Kind.SMART, {"title": "All too", "rules": rules}, parts(), **actor_fields
    )
    planner_statistics.analyze_tables()
    return custom, smart


def measure_page(client: "Client", collection_id: int, query: str) -> float:
    """Return the median time of an uncached page in milliseconds."""
    from apps.core.rest.reading import render_cache

    durations = []
    for _ in range(ROUNDS):
        render_cache.cache.clear()
        began = time.perf_counter()
        response = client.get(f"/admin/api/2026-10/collections/{collection_id}/products.json?limit={PAGE}&{query}")
        durations.append((time.perf_counter() - began) * 1000)
        assert len(response.json()["products"]) == PAGE
    return median(durations)


if __name__ == "__main__":
    main()
