"""Tests for handles: generated from titles, numbered if already used, in a fixed number of queries."""

from typing import Any

from apps.catalog.models import Product
from apps.shops.models import Shop
from tests.catalog.factories import make_product
from tests.conftest import ApiClient, Response


def create_product(api: ApiClient, **fields: Any) -> dict[str, Any]:
    response = api.post("products.json", {"product": {"title": "Board", **fields}})
    assert response.status_code == 201, response.content
    return response.json()["product"]


def get_errors(response: Response) -> dict[str, list[str]]:
    assert response.status_code == 422, response.content
    return response.json()["errors"]


def test_handles_are_transliterated_and_numbered(api: ApiClient) -> None:
    first = create_product(api, title="Crème Brûlée №1")
    second = create_product(api, title="Creme brulee №1")
    third = create_product(api, title="Creme brulee №1")
    nothing = create_product(api, title="※")

    assert [first["handle"], second["handle"], third["handle"]] == [
        "creme-brulee-no1",
        "creme-brulee-no1-1",
        "creme-brulee-no1-2",
    ]
    assert nothing["handle"] == "product"


def test_a_handle_that_is_named_and_taken_is_refused(api: ApiClient) -> None:
    create_product(api, handle="My Board")
    other = create_product(api, title="Other")

    response = api.post("products.json", {"product": {"title": "Board", "handle": "my-board"}})
    changed = api.put(f"products/{other['id']}.json", {"product": {"handle": "my-board"}})

    assert get_errors(response) == {"handle": ["has already been taken"]}
    assert get_errors(changed) == {"handle": ["has already been taken"]}


def test_the_handle_stays_when_the_title_changes(api: ApiClient) -> None:
    created_row = create_product(api)

    changed = api.put(f"products/{created_row['id']}.json", {"product": {"title": "Ski", "handle": ""}}).json()[
        "product"
    ]

    assert changed["handle"] == "board"


def test_a_thousand_handles_of_one_title_cost_no_loop(in_shop: Shop, django_assert_max_num_queries: Any) -> None:
    Product.objects.bulk_create(
        Product(shop=in_shop, title="Mug", handle="mug" if not n else f"mug-{n}") for n in range(1000)
    )

    with django_assert_max_num_queries(40):
        product = make_product("Mug")

    assert product.handle == "mug-1000"
