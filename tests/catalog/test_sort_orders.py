"""Tests for the eight sort orders of collections, with pages without duplicates or gaps."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.catalog.domain.collections.membership import ORDERS
from apps.catalog.domain.sales_counters import add_units_sold
from apps.catalog.models import Collection, Product
from apps.shops.models import Shop
from tests.api.test_paging import parse_links
from tests.catalog.factories import make_custom, make_image, make_product, make_smart
from tests.conftest import ApiClient

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
# Expected titles by sort order. Ties (price of B and c, sales of A and c) are sorted by id.
EXPECTED = {
    "alpha-asc": "ABcD",
    "alpha-desc": "DcBA",
    "best-selling": "BDAc",
    "created": "DBAc",
    "created-desc": "cABD",
    "manual": "cDAB",
    "price-asc": "ABcD",
    "price-desc": "DBcA",
}


@pytest.fixture
def collection_products(in_shop: Shop) -> list[Product]:
    """Create four products for comparing the sort orders."""
    products = [
        make_product("A", prices=("9.00", "1.00")),
        make_product("B", prices=("2.00",)),
        make_product("c", prices=("2.00",)),
        make_product("D", prices=("30.00",)),
    ]
    for product, days in zip(products, (3, 2, 4, 1), strict=True):
        Product.objects.filter(pk=product.pk).update(created_at=NOON + timedelta(days=days))
    add_units_sold({products[1].pk: 5, products[3].pk: 2, products[0].pk: 4})
    add_units_sold({products[0].pk: -9})
    return products


def get_manual_order(members: list[Product]) -> list[Product]:
    a, b, c, d = members
    return [c, d, a, b]


def get_titles_by_page(api: ApiClient, path: str, limit: int, direction: str = "next", **query: Any) -> list[list[str]]:
    """Follow the page links and return the titles on each page."""
    pages = []
    response = api.get(path, limit=limit, **query)
    while True:
        assert response.status_code == 200, response.content
        pages.append([row["title"] for row in response.json()["products"]])
        link = re.search(rf'<([^>]+)>; rel="{direction}"', response.get("Link", ""))
        if link is None:
            return pages
        response = api.http.get(link[1].removeprefix("http://127.0.0.1:8000"))


@pytest.mark.parametrize("kind", ["custom", "smart"])
@pytest.mark.parametrize("order", sorted(EXPECTED))
def test_products_come_in_the_order_of_the_collection(
    api: ApiClient, collection_products: list[Product], order: str, kind: str
) -> None:
    if kind == "custom":
        collection = make_custom("All", *get_manual_order(collection_products), sort_order=order)
    else:
        collection = make_smart("All", ("variant_price", "greater_than", "0"), sort_order=order)
        text = "&".join(f"products[]={product.pk}" for product in get_manual_order(collection_products))
        api.put(f"smart_collections/{collection.pk}/order.json?{text}")
    path = f"collections/{collection.pk}/products.json"

    assert "".join(title for page in get_titles_by_page(api, path, 250) for title in page) == EXPECTED[order]
    assert ["".join(page) for page in get_titles_by_page(api, path, 3)] == [EXPECTED[order][:3], EXPECTED[order][3:]]
    assert ["".join(page) for page in get_titles_by_page(api, path, 1)] == list(EXPECTED[order])


def test_every_order_has_its_columns() -> None:
    assert set(ORDERS) == set(Collection.SortOrder.values) == set(EXPECTED)


def test_products_without_a_place_come_last_on_pages_of_their_own(
    api: ApiClient, collection_products: list[Product]
) -> None:
    collection = make_smart("All", ("variant_price", "greater_than", "0"), sort_order="manual")
    api.put(f"smart_collections/{collection.pk}/order.json?products[]={collection_products[3].pk}")

    pages = get_titles_by_page(api, f"collections/{collection.pk}/products.json", 1)

    assert ["".join(page) for page in pages] == ["D", "A", "B", "c"]


def test_previous_pages_lead_back(api: ApiClient, collection_products: list[Product]) -> None:
    collection = make_custom("All", *collection_products, sort_order="price-desc")
    path = f"collections/{collection.pk}/products.json"
    first = api.get(path, limit=2)
    second = api.http.get(parse_links(first)["next"])

    back = api.http.get(parse_links(second)["previous"])

    assert back.json() == first.json()


def test_a_page_that_follows_keeps_the_order_of_the_first(api: ApiClient, collection_products: list[Product]) -> None:
    collection = make_custom("All", *get_manual_order(collection_products), sort_order="manual")
    path = f"collections/{collection.pk}/products.json"
    first = api.get(path, limit=2)
    api.put(f"custom_collections/{collection.pk}.json", {"custom_collection": {"sort_order": "alpha-desc"}})

    second = api.http.get(parse_links(first)["next"])

    assert [row["title"] for row in second.json()["products"]] == ["A", "B"]


def test_sales_move_nothing_that_the_product_shows(collection_products: list[Product]) -> None:
    product = Product.objects.get(pk=collection_products[0].pk)

    add_units_sold({product.pk: 3})

    after = Product.objects.get(pk=product.pk)
    assert (after.version, after.updated_at) == (product.version, product.updated_at)
    assert after.units_sold == product.units_sold + 3


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("order", sorted(EXPECTED))
def test_each_order_costs_the_same_queries_however_many_rows(
    api: ApiClient, in_shop: Shop, order: str, count: int, django_assert_num_queries: Any
) -> None:
    rows = [make_product(f"Mug {number}", prices=("1.00", "2.00")) for number in range(count)]
    for product in rows:
        make_image(product)
    collection = make_custom("All", *rows, sort_order=order)
    api.get("shop.json")

    with django_assert_num_queries(6):  # Queries: token, collection, keys, products, options, images.
        response = api.get(f"collections/{collection.pk}/products.json")

    assert len(response.json()["products"]) == count
