"""Tests for locations over REST."""

from apps.shops.models import Shop
from tests.conftest import ApiClient
from tests.inventory.factories import get_topics, make_item, make_location, set_stock
from tests.wire_tables import assert_fits


def test_every_route_of_locations_answers_as_its_clients_know_it(api: ApiClient, shop: Shop) -> None:
    depot = make_location(shop)
    set_stock(make_item(shop), depot, 3)

    answers = {
        "GET /locations.json": api.get("locations.json"),
        "GET /locations/count.json": api.get("locations/count.json"),
        "GET /locations/{id}.json": api.get(f"locations/{depot.pk}.json"),
        "GET /locations/{id}/inventory_levels.json": api.get(f"locations/{depot.pk}/inventory_levels.json"),
    }

    for route, response in answers.items():
        assert response.status_code == 200
        body = response.json()
        if route == "GET /locations/{id}.json":
            # In the wire table this field is null, but this location has a province.
            assert body["location"]["province_code"] == "QC"
        assert_fits("location", route, body)


def test_a_location_is_shown_whole(api: ApiClient, shop: Shop) -> None:
    shop.primary_locale = "fr"
    shop.save()
    depot = make_location(shop)

    location = api.get(f"locations/{depot.pk}.json").json()["location"]

    assert location | {"created_at": "", "updated_at": ""} == {
        "id": depot.pk,
        "name": "Depot",
        "address1": "1 Dock Road",
        "address2": None,
        "city": "Montreal",
        "zip": "H2X 1Y4",
        "province": "Quebec",
        "country": "CA",
        "phone": "+1-514-555-0100",
        "created_at": "",
        "updated_at": "",
        "country_code": "CA",
        "country_name": "Canada",
        "province_code": "QC",
        "legacy": False,
        "active": True,
        "admin_graphql_api_id": f"gid://platform/Location/{depot.pk}",
        "localized_country_name": "Canada",
        "localized_province_name": "Quebec",
    }


def test_a_new_shop_has_one_location_and_it_is_the_primary_one(api: ApiClient, shop: Shop) -> None:
    locations = api.get("locations.json").json()["locations"]

    assert [row["id"] for row in locations] == [shop.primary_location_id]
    assert api.get("locations/count.json").json() == {"count": 1}
    assert api.get("shop.json").json()["shop"]["primary_location_id"] == locations[0]["id"]
    assert get_topics(shop, "locations/") == ["locations/create"]


def test_locations_come_by_name(api: ApiClient, shop: Shop) -> None:
    for name in ("Zurich", "Aachen"):
        make_location(shop, name=name)

    first = api.get("locations.json", limit=2)

    assert [row["name"] for row in first.json()["locations"]] == ["Aachen", "Shop location"]
    assert 'rel="next"' in first["Link"]
