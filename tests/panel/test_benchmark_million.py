"""Tests that the million-row benchmark covers the sorting, filters and search of every list in the panel."""

from collections import Counter

from apps.shops.models import Shop
from benchmarks.million.panel import list_addresses
from tests.panel.conftest import Panel


def test_the_benchmark_finds_what_each_list_offers(owner_client: Panel, shop: Shop) -> None:
    page_names = [name for name, _address in list_addresses(owner_client.http, shop, rows=100)]

    counts = Counter(name.removeprefix("panel ").partition("?")[0] for name in page_names if "?" in name)
    # The benchmark sorts, filters and searches each list, and combines each typed filter with each sort order.
    assert min(counts[name] for name in ("orders_order", "customers_customer", "catalog_product")) > 100
    for filtered in ("orders_order?channel=web", "orders_order?processed=middle day", "catalog_product?tag=handmade"):
        assert f"panel {filtered}" in page_names
    repeated = [name for name, times in Counter(page_names).items() if times > 1]
    assert repeated == []
