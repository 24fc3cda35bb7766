from datetime import UTC, datetime

import pytest
from django.core.exceptions import ValidationError
from pytest_django import Settings

from apps.core.events.models import Event
from apps.core.exceptions import TransitionRefused
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.inventory.domain import locations, stock
from apps.inventory.domain.locations import LocationInUse, LocationLimitReached, ServiceLocation
from apps.inventory.models import InventoryLevel, Location
from apps.shops.domain.countries import UnknownCountry
from tests.support import factories
from tests.support.api_client import ApiClient, parse_links
from tests.support.factories.inventory import get_first_location, get_topics, make_item, make_location, set_stock
from tests.support.wire_tables import assert_fits

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
BY: Attrs = {"actor": "staff:17", "at": NOON}


def get_location_topics(location: Location) -> list[str]:
    rows = Event.objects.filter(subject_type="inventory.location", subject_id=location.pk).order_by("id")
    return list(rows.values_list("topic", flat=True))


def test_the_only_active_location_stays(in_shop: Shop) -> None:
    first = get_first_location(in_shop)
    make_location(in_shop, name="Service", legacy=True)

    with pytest.raises(LocationInUse) as error:
        locations.deactivate_location(first, **BY)

    assert error.value.errors == {"base": ["This is the only active location."]}
    first.refresh_from_db()
    assert first.active
    assert get_location_topics(first) == ["locations/create"]


def test_a_location_with_stock_stays_and_reasons_are_named(in_shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    depot = make_location(in_shop)
    set_stock(make_item(in_shop), depot, 1)
    objections = {"orders": lambda location: [f"{location} has open orders."]}
    monkeypatch.setattr(locations, "deactivation_objections", objections)

    with pytest.raises(LocationInUse) as error:
        locations.deactivate_location(depot, **BY)

    assert error.value.errors == {"base": ["1 item still has stock here.", "Depot has open orders."]}
    assert Location.objects.get(pk=depot.pk).active


def test_deactivating_and_activating_is_recorded_and_shown(in_shop: Shop, api: ApiClient) -> None:
    depot = make_location(in_shop)

    def is_active() -> bool:
        return api.get(f"locations/{depot.pk}.json").json()["location"]["active"]

    before = is_active()
    locations.deactivate_location(depot, **BY)
    after = is_active()
    with pytest.raises(LocationInUse, match="already inactive"):
        locations.deactivate_location(depot, **BY)
    locations.activate_location(depot, **BY)
    with pytest.raises(TransitionRefused, match="is already active"):
        locations.activate_location(depot, **BY)

    assert (before, after) == (True, False)
    assert get_location_topics(depot) == ["locations/create", "locations/deactivate", "locations/activate"]


def test_the_next_location_becomes_primary(in_shop: Shop) -> None:
    first, second = get_first_location(in_shop), make_location(in_shop, name="Second", priority=2)
    third = make_location(in_shop, name="Third", priority=1)

    locations.deactivate_location(first, **BY)

    in_shop.refresh_from_db()
    assert stock.get_primary_location() == third
    assert (in_shop.primary_location_id, second.active) == (third.pk, True)


def test_a_shop_has_no_more_active_locations_than_it_may(in_shop: Shop, settings: Settings) -> None:
    settings.LOCATION_LIMIT = 2
    depot = make_location(in_shop)

    with pytest.raises(LocationLimitReached, match="2 active"):
        make_location(in_shop)
    locations.deactivate_location(depot, **BY)
    make_location(in_shop)
    with pytest.raises(LocationLimitReached):
        locations.activate_location(depot, **BY)

    assert Location.objects.filter(active=True).count() == 2


def test_a_change_completes_the_region_and_records_what_changed(in_shop: Shop) -> None:
    depot = make_location(in_shop)

    locations.update_location(depot, {"name": "Yard", "province": "ontario"}, **BY)
    abroad = locations.update_location(depot, {"country": "Germany", "province": "Hamburg"}, **BY)
    locations.update_location(depot, {"name": "Yard"}, **BY)

    abroad.refresh_from_db()
    assert (abroad.country_code, abroad.province, abroad.province_code) == ("DE", "Hamburg", "HH")
    changes = Event.objects.filter(topic="locations/update").order_by("id").values_list("changes", flat=True)
    region = {"province", "province_code"}
    assert [set(change) for change in changes] == [region | {"name"}, region | {"country_code"}]


def test_a_services_location_is_changed_by_its_service_alone(in_shop: Shop) -> None:
    legacy = make_location(in_shop, legacy=True)

    with pytest.raises(ServiceLocation):
        locations.update_location(legacy, {"name": "Mine"}, **BY)
    locations.update_location(legacy, {"name": "Its own"}, by_service=True, **BY)

    legacy.refresh_from_db()
    assert legacy.name == "Its own"


def test_a_services_location_goes_or_stays_as_history(in_shop: Shop) -> None:
    unused, used = make_location(in_shop, legacy=True), make_location(in_shop, legacy=True)
    item = make_item(in_shop)
    set_stock(item, used, 3)
    stock.connect_item(item, unused, **BY)

    assert locations.close_service_location(unused, **BY) is True
    assert locations.close_service_location(used, **BY) is False

    assert list(Location.objects.filter(legacy=True).values_list("id", "active")) == [(used.pk, False)]
    assert set(InventoryLevel.objects.filter(item=item).values_list("available", flat=True)) <= {0}


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"country": "Atlantis"}, UnknownCountry),
        ({"country": None}, UnknownCountry),
        ({"name": ""}, ValidationError),
        ({"name": "n" * 256}, ValidationError),
    ],
)
def test_a_location_that_does_not_fit_is_not_opened(in_shop: Shop, fields: Attrs, error: type[Exception]) -> None:
    with pytest.raises(error):
        make_location(in_shop, **fields)

    assert Location.objects.count() == 1


def test_a_new_shops_location_has_the_shops_address(db: None) -> None:
    shop = factories.make_shop(country_code="CA", province="Quebec", city="Laval")

    first = get_first_location(shop)
    assert (first.country_code, first.province, first.province_code, first.city) == ("CA", "Quebec", "QC", "Laval")
    assert shop.primary_location_id == first.pk


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
        assert_fits("location", route, response.json())


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
    assert "next" in parse_links(first)
