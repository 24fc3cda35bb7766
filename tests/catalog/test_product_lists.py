"""Tests for product lists: filters, a fixed number of queries, one shop only."""

from typing import Any

import pytest

from apps.catalog.models import Product
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop
from tests.catalog.factories import make_custom, make_image, make_product, make_smart
from tests.conftest import ApiClient

FILTERS = {
    "title": "Red cup",
    "vendor": "Potters",
    "product_type": "Cups",
    "handle": "red-cup,none",
    "status": "draft",
    "published_status": "unpublished",
    "created_at_min": "2026-03-01",
    "published_at_max": "2000-01-01",
}


def test_lists_are_narrowed(api: ApiClient, shop: Shop) -> None:
    with shop_scope(shop):
        cup = make_product("Red cup", vendor="Potters", product_type="Cups", status="draft", published_at=None)
        bag = make_product("Bag", tags="Summer", prices=("5.00",))
        custom, smart = make_custom("Hand", cup), make_smart("Sun", ("tag", "equals", "summer"))
        Product.objects.filter(pk=cup.pk).update(created_at="2026-03-01T12:00:00Z")
        Product.objects.filter(pk=bag.pk).update(created_at="2026-02-01T12:00:00Z")

    def ids(**query: Any) -> list[int]:
        matching_ids = [row["id"] for row in api.get("products.json", **query).json()["products"]]
        assert api.get("products/count.json", **query).json() == {"count": len(matching_ids)}
        return matching_ids

    for name, value in FILTERS.items():
        expected = [] if name == "published_at_max" else [cup.pk]
        assert ids(**{name: value}) == expected, name
    assert ids(collection_id=custom.pk) == [cup.pk]
    assert ids(collection_id=smart.pk) == [bag.pk]
    assert ids(collection_id=10**12) == []
    assert ids(status="draft, active") == [cup.pk, bag.pk]
    assert ids(ids=f"{bag.pk}") == [bag.pk]
    assert ids(presentment_currencies="USD,EUR") == [cup.pk, bag.pk]
    assert [row["id"] for row in api.get("products.json", since_id=cup.pk).json()["products"]] == [bag.pk]


def test_fields_narrow_what_is_read(api: ApiClient, shop: Shop, django_assert_num_queries: Any) -> None:
    with shop_scope(shop):
        product = make_product(prices=("1.00",))
    api.get("shop.json")

    with django_assert_num_queries(3):  # Queries: token, keys, products.
        products = api.get("products.json", fields="id, title").json()["products"]

    assert products == [{"id": product.pk, "title": "Mug"}]


@pytest.mark.parametrize("count", [1, 3])
def test_list_costs_the_same_queries_however_many_rows(
    api: ApiClient, shop: Shop, count: int, django_assert_num_queries: Any
) -> None:
    with shop_scope(shop):
        for number in range(count):
            product = make_product(f"Mug {number}", prices=("1.00", "2.00"))
            make_image(product)
            make_image(product)
    api.get("shop.json")

    with django_assert_num_queries(7):  # Queries: token, keys, products, variants, options, images, image variants.
        response = api.get("products.json")

    assert len(response.json()["products"]) == count


def test_another_shops_product_does_not_exist(api: ApiClient, other_shop: Shop) -> None:
    with shop_scope(other_shop):
        foreign = make_product(prices=("1.00",))
        variant = foreign.variants.get()
        image = make_image(foreign)

    for method, path in (
        ("get", f"products/{foreign.pk}.json"),
        ("put", f"products/{foreign.pk}.json"),
        ("delete", f"products/{foreign.pk}.json"),
        ("get", f"products/{foreign.pk}/variants.json"),
        ("get", f"variants/{variant.pk}.json"),
        ("get", f"products/{foreign.pk}/images/{image.pk}.json"),
    ):
        arguments = [{"product": {"title": "x"}}] if method == "put" else []
        assert getattr(api, method)(path, *arguments).status_code == 404
    with shop_scope(other_shop):
        foreign.refresh_from_db()
        assert foreign.title == "Mug"
