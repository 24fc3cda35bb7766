"""The walk of the benchmark knows what every list of the panel offers."""

from collections import Counter

from apps.shops.models import Shop
from benchmarks.million.panel import addresses
from tests.panel.conftest import Panel


def test_the_benchmark_finds_what_each_list_offers(owner: Panel, shop: Shop) -> None:
    found = [name for name, _address in addresses(owner.http, shop, rows=100)]

    asked = Counter(name.removeprefix("panel ").partition("?")[0] for name in found if "?" in name)
    # Each is sorted, filtered and searched, and by filters that one types into in every order.
    assert min(asked[name] for name in ("orders_order", "customers_customer", "catalog_product")) > 100
    for filtered in ("orders_order?channel=web", "orders_order?processed=middle day", "catalog_product?tag=handmade"):
        assert f"panel {filtered}" in found
    repeated = [name for name, times in Counter(found).items() if times > 1]
    assert repeated == []
