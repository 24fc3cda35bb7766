"""Tests for inventory levels over REST: listing, setting, adjusting, connecting and deleting."""

from typing import Any

import pytest

from apps.ground.tenancy import shop_scope
from apps.inventory.models import InventoryLevel
from apps.shops.models import Shop
from tests.conftest import ApiClient
from tests.inventory.factories import (
    build_level_body,
    get_available,
    get_first_location,
    get_ledger,
    get_topics,
    make_item,
    make_location,
    set_stock,
)


def test_a_level_names_its_item_and_its_location(api: ApiClient, shop: Shop) -> None:
    item = make_item(shop)
    location = get_first_location(shop)
    level = set_stock(item, location, 4)

    inventory_levels = api.get("inventory_levels.json", location_ids=str(location.pk)).json()["inventory_levels"]

    assert [row | {"updated_at": ""} for row in inventory_levels] == [
        {
            "inventory_item_id": item.pk,
            "location_id": location.pk,
            "available": 4,
            "updated_at": "",
            "admin_graphql_api_id": f"gid://platform/InventoryLevel/{level.pk}?inventory_item_id={item.pk}",
        }
    ]


def test_levels_are_narrowed_by_items_and_locations(api: ApiClient, shop: Shop) -> None:
    first_item, two, depot, first = make_item(shop), make_item(shop), make_location(shop), get_first_location(shop)
    set_stock(first_item, depot, 1)
    set_stock(two, depot, 2)

    def listed(**query: str) -> list[tuple[int, int]]:
        rows = api.get("inventory_levels.json", **query).json()["inventory_levels"]
        return sorted((row["inventory_item_id"], row["location_id"]) for row in rows)

    both = f"{first_item.pk},{two.pk}"
    assert listed(inventory_item_ids=both) == sorted(
        [(first_item.pk, first.pk), (first_item.pk, depot.pk), (two.pk, first.pk), (two.pk, depot.pk)]
    )
    assert listed(inventory_item_ids=both, location_ids=str(depot.pk)) == [
        (first_item.pk, depot.pk),
        (two.pk, depot.pk),
    ]
    assert listed(location_ids="999999") == []


@pytest.mark.parametrize(
    ("query", "status"),
    [({}, 422), ({"limit": "5"}, 422), ({"location_ids": "x"}, 400), ({"inventory_item_ids": "0"}, 400)],
)
def test_levels_without_a_usable_item_or_location_are_refused(
    api: ApiClient, query: dict[str, str], status: int
) -> None:
    response = api.get("inventory_levels.json", **query)

    assert response.status_code == status
    assert response.json()["errors"]


def test_levels_page_on_without_their_filters(api: ApiClient, shop: Shop) -> None:
    location = get_first_location(shop)
    items = [make_item(shop) for _ in range(3)]

    first = api.get("inventory_levels.json", location_ids=str(location.pk), limit=2)
    token = first["Link"].split("page_info=")[1].split(">")[0]
    second = api.get("inventory_levels.json", page_info=token, limit=2)

    inventory_levels = first.json()["inventory_levels"] + second.json()["inventory_levels"]
    assert [row["inventory_item_id"] for row in inventory_levels] == [item.pk for item in items]


def test_set_connects_and_adjust_does_not(api: ApiClient, shop: Shop) -> None:
    item, depot = make_item(shop), make_location(shop)

    refused = api.post("inventory_levels/adjust.json", build_level_body(item, depot, available_adjustment=1))
    response = api.post("inventory_levels/set.json", build_level_body(item, depot, available=9))

    assert refused.status_code == 422
    assert refused.json() == {"errors": {"base": ["The item is not stocked at this location."]}}
    assert response.json()["inventory_level"]["available"] == 9
    assert get_ledger(item, depot) == [(9, 9, "count")]


def test_no_adjustment_leads_below_zero(api: ApiClient, shop: Shop) -> None:
    item, first = make_item(shop), get_first_location(shop)
    set_stock(item, first, 2)

    response = api.post("inventory_levels/adjust.json", build_level_body(item, first, available_adjustment=-3))

    assert response.status_code == 422
    assert response.json() == {"errors": {"available": ["is not enough: 2 available, 3 requested"]}}
    assert get_available(item, first) == 2
    assert get_ledger(item, first) == [(2, 2, "count")]


@pytest.mark.parametrize(
    ("action", "body", "field", "message"),
    [
        ("set", {"available": -1}, "available", "must be greater than or equal to 0"),
        ("set", {"available": 1_000_000_001}, "available", "must be less than or equal to 1000000000"),
        ("set", {}, "available", "can't be blank"),
        ("set", {"available": "many"}, "available", "is invalid"),
        ("set", {"available": 1.5}, "available", "is invalid"),
        ("set", {"available": True}, "available", "is invalid"),
        ("adjust", {"available_adjustment": None}, "available_adjustment", "can't be blank"),
        ("adjust", {"available_adjustment": 2**70}, "available_adjustment", "is invalid"),
        ("connect", {"relocate_if_necessary": "maybe"}, "relocate_if_necessary", "is invalid"),
        ("connect", {"location_id": "x"}, "location_id", "is invalid"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_name(
    *, api: ApiClient, shop: Shop, action: str, body: dict[str, Any], field: str, message: str
) -> None:
    item, first = make_item(shop), get_first_location(shop)

    response = api.post(f"inventory_levels/{action}.json", build_level_body(item, first) | body)

    assert response.status_code == 422
    assert response.json()["errors"][field] == [message]
    assert get_ledger(item, first) == []


def test_all_that_is_missing_is_named_at_once(api: ApiClient) -> None:
    response = api.post("inventory_levels/set.json", {})

    assert response.status_code == 422
    assert set(response.json()["errors"]) == {"inventory_item_id", "location_id", "available"}
    assert api.post("inventory_levels/set.json", []).status_code == 400
    assert api.delete("inventory_levels.json").status_code == 422


def test_a_sum_beyond_the_range_is_refused(api: ApiClient, shop: Shop) -> None:
    item, first = make_item(shop), get_first_location(shop)
    set_stock(item, first, 1_000_000_000)

    response = api.post(
        "inventory_levels/adjust.json", build_level_body(item, first, available_adjustment=1_000_000_000)
    )

    assert response.status_code == 422
    assert get_available(item, first) == 1_000_000_000


def test_connect_is_done_once_and_delete_takes_the_rest_off_the_books(api: ApiClient, shop: Shop) -> None:
    item, depot = make_item(shop), make_location(shop)
    first = api.post("inventory_levels/connect.json", build_level_body(item, depot))
    second_response = api.post("inventory_levels/connect.json", build_level_body(item, depot))
    set_stock(item, depot, 6)

    response = api.delete(f"inventory_levels.json?inventory_item_id={item.pk}&location_id={depot.pk}")
    missing = api.delete(f"inventory_levels.json?inventory_item_id={item.pk}&location_id={depot.pk}")

    assert first.json() == second_response.json()
    assert [first.status_code, second_response.status_code, response.status_code, missing.status_code] == [
        201,
        201,
        200,
        404,
    ]
    assert get_ledger(item, depot) == [(6, 6, "count"), (-6, 0, "disconnected")]
    assert get_topics(shop, "inventory_levels/")[1:] == [
        "inventory_levels/connect",
        "inventory_levels/update",
        "inventory_levels/disconnect",
    ]


def test_the_last_level_of_an_item_cannot_be_deleted(api: ApiClient, shop: Shop) -> None:
    item, first, depot = make_item(shop), get_first_location(shop), make_location(shop)
    set_stock(item, first, 6)
    path = f"inventory_levels.json?inventory_item_id={item.pk}&location_id="

    refused = api.delete(f"{path}{first.pk}")
    api.post("inventory_levels/connect.json", build_level_body(item, depot))
    response = api.delete(f"{path}{first.pk}")

    assert refused.status_code == 422
    assert refused.json() == {"errors": {"base": ["Shop location is the only location that stocks the item."]}}
    assert response.status_code == 200
    assert get_ledger(item, first) == [(6, 6, "count"), (-6, 0, "disconnected")]
    assert api.delete(f"{path}{depot.pk}").status_code == 422


def test_an_item_moves_to_a_location_that_does_not_share(api: ApiClient, shop: Shop) -> None:
    item, first = make_item(shop), get_first_location(shop)
    service = make_location(shop, name="Service", legacy=True, permits_sku_sharing=False)
    set_stock(item, first, 6)

    refused = api.post("inventory_levels/connect.json", build_level_body(item, service))
    moved = api.post("inventory_levels/connect.json", build_level_body(item, service, relocate_if_necessary=True))

    assert refused.status_code == 422
    assert "Shop location" in refused.json()["errors"]["base"][0]
    assert moved.status_code == 201
    with shop_scope(shop):
        assert list(InventoryLevel.objects.values_list("location_id", flat=True)) == [service.pk]
    assert get_ledger(item, first)[-1] == (-6, 0, "disconnected")
