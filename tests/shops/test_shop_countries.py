from datetime import datetime

import pytest
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.shops.domain.shop_creation import create_shop
from apps.shops.models import ShopCountry, ShopProvince
from tests.support.api_client import ApiClient, ClientWith, get_errors
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits


def post_country(api: ApiClient, code: str, **values: object) -> JsonObject:
    response = api.post("countries.json", {"country": {"code": code, **values}})
    assert response.status_code == 201, response.content
    return response.json()["country"]


def get_province(country: JsonObject, code: str) -> JsonObject:
    return next(row for row in country["provinces"] if row["code"] == code)


def test_answers_fit_the_wire_tables(api: ApiClient) -> None:
    created = api.post("countries.json", {"country": {"code": "CA", "tax": 0.05}})
    path = f"countries/{created.json()['country']['id']}"
    province_path = f"{path}/provinces/{get_province(created.json()['country'], 'ON')['id']}.json"

    for table, route, body in (
        ("country", "POST /countries.json", created.json()),
        ("country", "GET /countries.json", api.get("countries.json").json()),
        ("country", "GET /countries/count.json", api.get("countries/count.json").json()),
        ("country", "GET /countries/{id}.json", api.get(f"{path}.json").json()),
        ("country", "PUT /countries/{id}.json", api.put(f"{path}.json", {"country": {"tax": 0.07}}).json()),
        ("province", "GET /countries/{id}/provinces.json", api.get(f"{path}/provinces.json").json()),
        ("province", "GET /countries/{id}/provinces/count.json", api.get(f"{path}/provinces/count.json").json()),
        ("province", "GET /countries/{id}/provinces/{id}.json", api.get(province_path).json()),
        (
            "province",
            "PUT /countries/{id}/provinces/{id}.json",
            api.put(province_path, {"province": {"tax": 0.15, "tax_type": "harmonized"}}).json(),
        ),
        ("currency", "GET /currencies.json", api.get("currencies.json").json()),
    ):
        assert_fits(table, route, body)
    zones = api.get("shipping_zones.json").json()["shipping_zones"]
    assert [set(zone) for zone in zones] == [
        {
            *("id", "name", "profile_id", "location_group_id", "admin_graphql_api_id", "countries"),
            *("weight_based_shipping_rates", "price_based_shipping_rates", "carrier_shipping_rate_providers"),
        }
    ] * len(zones)
    assert api.delete(f"{path}.json").json() == {}
    assert api.get(f"{path}.json").status_code == api.get(province_path).status_code == 404


def test_a_country_comes_with_its_provinces_and_the_names_of_its_taxes(api: ApiClient) -> None:
    mexico, germany = post_country(api, "mx", tax="0.16"), post_country(api, "DE", tax_name="USt")

    assert (mexico["name"], mexico["code"], mexico["tax"], mexico["tax_name"]) == ("Mexico", "MX", 0.16, "VAT")
    assert len(mexico["provinces"]) == 32
    province = get_province(mexico, "NL")
    assert province == {
        **{name: province[name] for name in ("id", "shipping_zone_id")},
        "country_id": mexico["id"],
        "name": "Nuevo León",
        "code": "NL",
        "tax_name": "VAT",
        "tax_type": None,
        "tax": 0.0,
        "tax_percentage": 0.0,
    }
    assert (germany["tax"], germany["tax_name"], germany["provinces"]) == (0.0, "USt", [])
    assert post_country(api, "*")["name"] == "Rest of World"


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({"code": "ZZ"}, {"code": ["is invalid"]}),
        ({"code": ""}, {"code": ["can't be blank"]}),
        ({"code": "DEU"}, {"code": ["is too long (maximum is 2 characters)"]}),
        ({"tax": 0.2}, {"code": ["can't be blank"]}),
        ({"code": "FR", "tax": -1}, {"tax": ["must be greater than or equal to 0"]}),
        ({"code": "FR", "tax": 1.5}, {"tax": ["must be less than or equal to 1"]}),
        ({"code": "FR", "tax": "a lot"}, {"tax": ["is invalid"]}),
        ({"code": "US"}, {"code": ["has already been taken"]}),
    ],
)
def test_a_country_that_cannot_be_is_refused(api: ApiClient, shop: Shop, body: JsonObject, errors: JsonObject) -> None:
    response = api.post("countries.json", {"country": body})

    assert (response.status_code, get_errors(response)) == (422, errors)
    with shop_scope(shop):
        assert ShopCountry.objects.filter(code="US").count() == ShopCountry.objects.count() == 1


def test_taxes_are_changed_and_recorded_once(api: ApiClient, in_shop: Shop) -> None:
    country = post_country(api, "CA", tax=0.05)
    path = f"countries/{country['id']}"
    province = get_province(country, "ON")
    rate = "0.0714285714285714"
    sent_back = {**country, "tax": 0.06, "code": "US", "name": "Elsewhere"}

    changed = [api.put(f"{path}.json", {"country": sent_back}).json()["country"] for _ in range(2)]
    values = {"tax": rate, "tax_name": "HST", "tax_type": "harmonized"}
    saved = api.put(f"{path}/provinces/{province['id']}.json", {"province": values}).json()["province"]
    refused = api.put(f"{path}/provinces/{province['id']}.json", {"province": {"tax_type": "extra", "tax": 2}})

    assert [(row["tax"], row["code"], row["name"]) for row in changed] == [(0.06, "CA", "Canada")] * 2
    assert (saved["tax"], saved["tax_name"], saved["tax_type"]) == (float(rate), "HST", "harmonized")
    assert saved["tax_percentage"] == 7.14285714285714
    assert (refused.status_code, list(get_errors(refused))) == (422, ["tax_type", "tax"])
    topics = Event.objects.filter(topic__regex="^(countries|provinces)/").order_by("id").values_list("topic", flat=True)
    assert list(topics)[-3:] == ["countries/create", "countries/update", "provinces/update"]


def test_shipping_zones_are_the_own_country_and_the_other_countries(api: ApiClient, shop: Shop) -> None:
    codes = [post_country(api, code)["code"] for code in ("CA", "DE")]

    domestic, international = api.get("shipping_zones.json").json()["shipping_zones"]

    assert codes == ["CA", "DE"]
    assert [zone["name"] for zone in (domestic, international)] == ["Domestic", "International"]
    assert [row["code"] for row in domestic["countries"]] == ["US"]
    assert [row["code"] for row in international["countries"]] == ["CA", "DE"]
    for zone in (domestic, international):
        assert {row["shipping_zone_id"] for row in zone["countries"]} == {zone["id"]}
        assert {row["shipping_zone_id"] for country in zone["countries"] for row in country["provinces"]} == {
            zone["id"]
        }
        assert_fits("shipping_zone", "GET /shipping_zones.json", {"shipping_zones": []})


def test_a_country_belongs_to_one_shop(api: ApiClient, client_with: ClientWith, other_shop: Shop) -> None:
    stranger = client_with("write_shipping", shop=other_shop)
    country = post_country(api, "CA")
    path = f"countries/{country['id']}"
    province_path = f"{path}/provinces/{country['provinces'][0]['id']}.json"

    assert [stranger.get(f"{name}.json").status_code for name in (path, f"{path}/provinces")] == [404, 404]
    assert stranger.put(province_path, {"province": {"tax": 0.5}}).status_code == 404
    assert stranger.delete(f"{path}.json").status_code == 404
    assert country["id"] not in [row["id"] for row in stranger.get("countries.json").json()["countries"]]
    assert post_country(stranger, "CA")["id"] != country["id"]
    zones = {zone["id"] for zone in api.get("shipping_zones.json").json()["shipping_zones"]}
    assert zones.isdisjoint(zone["id"] for zone in stranger.get("shipping_zones.json").json()["shipping_zones"])


def test_reading_and_writing_need_the_scope(client_with: ClientWith) -> None:
    reader, other = client_with("read_shipping"), client_with("write_products")

    assert reader.get("countries.json").status_code == reader.get("shipping_zones.json").status_code == 200
    assert reader.post("countries.json", {"country": {"code": "CA"}}).status_code == 403
    assert other.get("countries.json").status_code == other.get("shipping_zones.json").status_code == 403
    assert other.get("currencies.json").status_code == 200


def test_a_new_shop_has_its_own_country(db: None) -> None:
    values = {"name": "Maple", "email": "ada@example.com", "country_code": "CA"}
    shop = create_shop(domain="maple.example", actor="system", at=timezone.now(), **values)

    with shop_scope(shop):
        assert list(ShopCountry.objects.values_list("code", "tax_name")) == [("CA", "GST")]
        assert ShopProvince.objects.get(code="ON").country.code == "CA"


def test_currencies_tell_when_their_rates_were_set(api: ApiClient, shop: Shop) -> None:
    shop.presentment_currencies = [
        {"currency": "EUR", "rate": "0.92", "rounding": "", "rate_updated_at": "2026-01-02T03:04:05+00:00"},
        {"currency": "GBP", "rate": "0.79", "rounding": ""},
    ]
    shop.save()
    rows = api.get("currencies.json").json()["currencies"]

    def to_text(moment: datetime) -> str:
        return moment.astimezone(shop.tzinfo).isoformat(timespec="seconds")

    assert [(row["currency"], row["enabled"]) for row in rows] == [("USD", True), ("EUR", True), ("GBP", True)]
    assert [row["rate_updated_at"] for row in rows] == [
        to_text(shop.created_at),
        to_text(datetime.fromisoformat("2026-01-02T03:04:05+00:00")),
        to_text(shop.updated_at),
    ]
