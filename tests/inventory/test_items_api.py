"""Tests for inventory items over REST, and for behavior common to all inventory routes."""

from typing import Any

import pytest

from apps.shops.models import Shop
from tests.conftest import ApiClient, ClientWith
from tests.inventory.factories import (
    build_level_body,
    get_available,
    get_first_location,
    get_topics,
    make_item,
    make_location,
    set_stock,
)
from tests.wire_tables import assert_fits


def test_every_route_of_items_and_levels_answers_as_its_clients_know_it(api: ApiClient, shop: Shop) -> None:
    item, depot = make_item(shop), make_location(shop)
    both = build_level_body(item, depot)
    path = f"inventory_items/{item.pk}.json"

    items = {
        "GET /inventory_items.json": api.get("inventory_items.json", ids=str(item.pk)),
        "GET /inventory_items/{id}.json": api.get(path),
        "PUT /inventory_items/{id}.json": api.put(path, {"inventory_item": {"sku": "MUG-2", "cost": "5.25"}}),
    }
    levels = {
        "POST /inventory_levels/connect.json": api.post("inventory_levels/connect.json", both),
        "POST /inventory_levels/set.json": api.post("inventory_levels/set.json", both | {"available": 7}),
        "POST /inventory_levels/adjust.json": api.post(
            "inventory_levels/adjust.json", both | {"available_adjustment": -2}
        ),
        "GET /inventory_levels.json": api.get("inventory_levels.json", inventory_item_ids=str(item.pk)),
    }
    deleted = api.delete(f"inventory_levels.json?inventory_item_id={item.pk}&location_id={depot.pk}")

    for route, response in items.items():
        assert response.status_code == 200
        assert_fits("inventory_item", route, response.json())
    for route, response in levels.items():
        assert response.status_code == (201 if "connect" in route else 200), response.content
        assert_fits("inventory_level", route, response.json())
    assert levels["POST /inventory_levels/adjust.json"].json()["inventory_level"]["available"] == 5
    assert (deleted.status_code, deleted.json()) == (200, {})


def test_an_item_takes_its_customs_data(api: ApiClient, shop: Shop) -> None:
    item = make_item(shop)
    body = {
        "country_code_of_origin": "ca",
        "province_code_of_origin": "Quebec",
        "harmonized_system_code": "691110",
        "country_harmonized_system_codes": [{"country_code": "FR", "harmonized_system_code": "6911100000"}],
        "tracked": False,
        "cost": None,
    }

    response = api.put(f"inventory_items/{item.pk}.json", {"inventory_item": body})

    inventory_item = response.json()["inventory_item"]
    assert response.status_code == 200
    assert {name: inventory_item[name] for name in body} == body | {
        "country_code_of_origin": "CA",
        "province_code_of_origin": "QC",
        "cost": "0.00",
    }
    assert get_topics(shop, "inventory_items/") == ["inventory_items/create", "inventory_items/update"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("country_code_of_origin", "XX"),
        ("province_code_of_origin", "QC"),
        ("harmonized_system_code", "12"),
        ("country_harmonized_system_codes", [{"country_code": "FR"}]),
        ("country_harmonized_system_codes", {"FR": "691110"}),
        ("cost", "-1"),
        ("cost", "1.234"),
        ("tracked", None),
        ("sku", "s" * 256),
        ("sku", {"a": 1}),
    ],
)
def test_an_item_refuses_what_does_not_fit(api: ApiClient, shop: Shop, field: str, value: Any) -> None:
    item = make_item(shop)
    before = api.get(f"inventory_items/{item.pk}.json").json()

    response = api.put(f"inventory_items/{item.pk}.json", {"inventory_item": {field: value}})

    assert response.status_code == 422
    assert list(response.json()["errors"]) == [field]
    assert api.get(f"inventory_items/{item.pk}.json").json() == before
    assert get_topics(shop, "inventory_items/") == ["inventory_items/create"]


@pytest.mark.parametrize(
    ("currency", "cost", "finer"), [("JPY", "5", "5.0"), ("USD", "5.25", "5.251"), ("KWD", "5.251", "5.2511")]
)
def test_costs_have_the_decimals_of_the_shops_currency(
    api: ApiClient, shop: Shop, currency: str, cost: str, finer: str
) -> None:
    item = make_item(shop, cost="0")
    Shop.objects.filter(pk=shop.pk).update(currency=currency)
    path = f"inventory_items/{item.pk}.json"

    assert api.put(path, {"inventory_item": {"cost": finer}}).json() == {"errors": {"cost": ["is invalid"]}}
    assert api.put(path, {"inventory_item": {"cost": cost}}).json()["inventory_item"]["cost"] == cost
    assert api.get(path).json()["inventory_item"]["cost"] == cost


@pytest.mark.parametrize("country", ["US", None])
def test_a_province_goes_with_its_country(api: ApiClient, shop: Shop, country: str | None) -> None:
    item = make_item(shop, country_code_of_origin="CA", province_code_of_origin="QC")

    body = api.put(f"inventory_items/{item.pk}.json", {"inventory_item": {"country_code_of_origin": "CA"}}).json()
    moved = api.put(f"inventory_items/{item.pk}.json", {"inventory_item": {"country_code_of_origin": country}}).json()

    assert body["inventory_item"]["province_code_of_origin"] == "QC"
    assert moved["inventory_item"]["country_code_of_origin"] == country
    assert moved["inventory_item"]["province_code_of_origin"] is None


def test_another_shops_items_and_locations_do_not_exist(api: ApiClient, shop: Shop, other_shop: Shop) -> None:
    mine, own = make_item(shop), get_first_location(shop)
    theirs, there = make_item(other_shop), get_first_location(other_shop)
    before = set_stock(theirs, there, 5).available

    answers = [
        api.post("inventory_levels/set.json", build_level_body(theirs, own, available=1)),
        api.post("inventory_levels/set.json", build_level_body(mine, there, available=1)),
        api.post("inventory_levels/adjust.json", build_level_body(theirs, there, available_adjustment=1)),
        api.post("inventory_levels/connect.json", build_level_body(mine, there)),
        api.delete(f"inventory_levels.json?inventory_item_id={theirs.pk}&location_id={there.pk}"),
        api.get(f"inventory_items/{theirs.pk}.json"),
        api.put(f"inventory_items/{theirs.pk}.json", {"inventory_item": {"sku": "X"}}),
        api.get(f"locations/{there.pk}.json"),
        api.get(f"locations/{there.pk}/inventory_levels.json"),
    ]

    assert [response.status_code for response in answers] == [404] * len(answers)
    assert api.get("inventory_levels.json", inventory_item_ids=str(theirs.pk)).json() == {"inventory_levels": []}
    assert get_available(theirs, there) == before


def test_each_route_asks_for_its_scope(client_with: ClientWith, shop: Shop) -> None:
    item, first = make_item(shop), get_first_location(shop)
    reader, stranger = client_with("read_inventory"), client_with("read_products")

    path = f"inventory_items/{item.pk}.json"
    assert reader.get(path).status_code == 200
    assert reader.get("locations.json").status_code == 403
    assert client_with("read_locations").get("locations.json").status_code == 200
    assert reader.post("inventory_levels/set.json", build_level_body(item, first, available=1)).status_code == 403
    assert stranger.get(path).status_code == 403
    for client in (reader, client_with("read_locations")):
        assert client.get(f"locations/{first.pk}/inventory_levels.json").status_code == 200


@pytest.mark.parametrize("count", [1, 3])
def test_lists_cost_the_same_queries_however_many_rows(
    api: ApiClient, shop: Shop, count: int, django_assert_num_queries: Any
) -> None:
    location = get_first_location(shop)
    for _ in range(count):
        make_item(shop)
        make_location(shop)
    api.get("shop.json")

    for path, query, size, queries in (
        ("locations.json", {}, count + 1, 3),
        ("inventory_items.json", {}, count, 3),
        # The additional query finds the end of the index walk.
        ("inventory_levels.json", {"location_ids": str(location.pk)}, count, 4),
        (f"locations/{location.pk}/inventory_levels.json", {}, count, 3),
    ):
        with django_assert_num_queries(queries):
            response = api.get(path, **query)
        assert sum(len(rows) for rows in response.json().values()) == size
