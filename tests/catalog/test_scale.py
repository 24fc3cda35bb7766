from itertools import pairwise

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from apps.catalog.domain.collections.membership import ORDERS
from apps.catalog.models import Collection, Product
from apps.core.rest.reading import render_cache
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from benchmarks.sort_orders import fill_collections
from tests.support.api_client import ApiClient, parse_links

PRODUCTS = 10_000
PAGE = 250


def create_full_collections(shop: Shop) -> dict[str, int]:
    with shop_scope(shop):
        return {collection.kind: collection.pk for collection in fill_collections(shop, PRODUCTS)}


pytestmark = [pytest.mark.slow, pytest.mark.shop_with(fill=create_full_collections), pytest.mark.usefixtures("in_shop")]


@pytest.mark.parametrize("kind", ["custom", "smart"])
def test_every_order_costs_the_same_number_of_queries(api: ApiClient, shared_rows: dict[str, int], kind: str) -> None:
    path = f"collections/{shared_rows[kind]}/products.json"
    api.get("shop.json")  # The first request with a token also records the token's use.
    queries = {}
    for name in ORDERS:
        Collection.objects.filter(pk=shared_rows[kind]).update(sort_order=name)
        render_cache.cache.clear()
        with CaptureQueriesContext(connection) as captured:
            first = api.get(path, limit=PAGE)
        queries[name] = len(captured)
        second = api.http.get(parse_links(first)["next"])
        ids = [row["id"] for page in (first, second) for row in page.json()["products"]]
        assert len(set(ids)) == 2 * PAGE

    assert len(set(queries.values())) == 1, queries


def test_products_by_price_come_in_order(api: ApiClient, shared_rows: dict[str, int]) -> None:
    Collection.objects.filter(pk=shared_rows["smart"]).update(sort_order="price-desc")
    prices = dict(Product.objects.values_list("pk", "lowest_price"))

    response = api.get(f"collections/{shared_rows['smart']}/products.json", limit=PAGE)

    output = [prices[row["id"]] for row in response.json()["products"]]
    assert output[0] == max(prices.values())
    assert all(before >= after for before, after in pairwise(output))


def test_a_full_page_costs_few_queries(api: ApiClient, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    api.get("shop.json")

    with django_assert_num_queries(7):  # Queries: token, keys, products, variants, options, images, image variants.
        response = api.get("products.json", limit=PAGE)

    assert len(response.json()["products"]) == PAGE
