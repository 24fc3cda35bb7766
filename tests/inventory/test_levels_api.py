import pytest

from apps.core.tenancy.models import Shop
from apps.inventory.models import InventoryLevel
from tests.support.api_client import ApiClient, get_errors, parse_links
from tests.support.factories.inventory import (
    build_level_body,
    get_available,
    get_first_location,
    get_ledger,
    get_topics,
    make_item,
    make_location,
    set_stock,
)
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits


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

    def list_levels(**query: str) -> list[tuple[int, int]]:
        rows = api.get("inventory_levels.json", **query).json()["inventory_levels"]
        return sorted((row["inventory_item_id"], row["location_id"]) for row in rows)

    both = f"{first_item.pk},{two.pk}"
    at_depot = [(item.pk, depot.pk) for item in (first_item, two)]
    everywhere = sorted([*at_depot, (first_item.pk, first.pk), (two.pk, first.pk)])
    assert list_levels(inventory_item_ids=both) == everywhere
    assert list_levels(inventory_item_ids=both, location_ids=str(depot.pk)) == at_depot
    assert list_levels(location_ids="999999") == []


@pytest.mark.parametrize(
    ("query", "status"),
    [({}, 422), ({"limit": "5"}, 422), ({"location_ids": "x"}, 400), ({"inventory_item_ids": "0"}, 400)],
)
def test_levels_without_item_or_location_are_refused(api: ApiClient, query: dict[str, str], status: int) -> None:
    response = api.get("inventory_levels.json", **query)

    assert response.status_code == status
    assert response.json()["errors"]


def test_levels_page_on_without_their_filters(api: ApiClient, shop: Shop) -> None:
    location = get_first_location(shop)
    items = [make_item(shop) for _ in range(3)]

    first = api.get("inventory_levels.json", location_ids=str(location.pk), limit=2)
    second = api.get(parse_links(first)["next"])

    inventory_levels = first.json()["inventory_levels"] + second.json()["inventory_levels"]
    assert [row["inventory_item_id"] for row in inventory_levels] == [item.pk for item in items]


def test_set_connects_and_adjust_does_not(api: ApiClient, shop: Shop) -> None:
    item, depot = make_item(shop), make_location(shop)

    refused = api.post("inventory_levels/adjust.json", build_level_body(item, depot, available_adjustment=1))
    response = api.post("inventory_levels/set.json", build_level_body(item, depot, available=9))

    assert get_errors(refused) == {"base": ["The item is not stocked at this location."]}
    assert response.json()["inventory_level"]["available"] == 9
    assert get_ledger(item, depot) == [(9, 9, "count")]


@pytest.mark.parametrize(
    ("before", "change", "message"),
    [
        (2, -3, "is not enough: 2 available, 3 requested"),
        (1_000_000_000, 1_000_000_000, "must be between -1000000000 and 1000000000"),
    ],
)
def test_adjustments_never_leave_the_range(api: ApiClient, shop: Shop, before: int, change: int, message: str) -> None:
    item, first = make_item(shop), get_first_location(shop)
    set_stock(item, first, before)

    response = api.post("inventory_levels/adjust.json", build_level_body(item, first, available_adjustment=change))

    assert get_errors(response) == {"available": [message]}
    assert (get_available(item, first), get_ledger(item, first)) == (before, [(before, before, "count")])


@pytest.mark.parametrize(
    ("action", "body", "field", "message"),
    [
        ("set", {"available": -1}, "available", "must be greater than or equal to 0"),
        ("set", {"available": 1_000_000_001}, "available", "must be less than or equal to 1000000000"),
        ("set", {}, "available", "can't be blank"),
        *(("set", {"available": bad}, "available", "is invalid") for bad in ("many", 1.5, True)),
        ("adjust", {"available_adjustment": None}, "available_adjustment", "can't be blank"),
        ("adjust", {"available_adjustment": 2**70}, "available_adjustment", "is invalid"),
        ("connect", {"relocate_if_necessary": "maybe"}, "relocate_if_necessary", "is invalid"),
        ("connect", {"location_id": "x"}, "location_id", "is invalid"),
    ],
)
def test_invalid_values_are_refused_by_field(
    *, api: ApiClient, shop: Shop, action: str, body: JsonObject, field: str, message: str
) -> None:
    item, first = make_item(shop), get_first_location(shop)

    response = api.post(f"inventory_levels/{action}.json", build_level_body(item, first) | body)

    assert (response.status_code, response.json()["errors"][field]) == (422, [message])
    assert get_ledger(item, first) == []


def test_all_that_is_missing_is_named_at_once(api: ApiClient) -> None:
    response = api.post("inventory_levels/set.json", {})

    assert response.status_code == 422
    assert set(response.json()["errors"]) == {"inventory_item_id", "location_id", "available"}
    assert api.post("inventory_levels/set.json", []).status_code == 400
    assert api.delete("inventory_levels.json").status_code == 422


def test_connect_is_done_once_and_delete_takes_the_rest_off_the_books(api: ApiClient, shop: Shop) -> None:
    item, depot = make_item(shop), make_location(shop)
    first = api.post("inventory_levels/connect.json", build_level_body(item, depot))
    second_response = api.post("inventory_levels/connect.json", build_level_body(item, depot))
    set_stock(item, depot, 6)

    path = f"inventory_levels.json?inventory_item_id={item.pk}&location_id={depot.pk}"
    response, missing = api.delete(path), api.delete(path)

    assert first.json() == second_response.json()
    assert [answer.status_code for answer in (first, second_response, response, missing)] == [201, 201, 200, 404]
    assert get_ledger(item, depot) == [(6, 6, "count"), (-6, 0, "disconnected")]
    topics = [topic.removeprefix("inventory_levels/") for topic in get_topics(shop, "inventory_levels/")]
    assert topics[1:] == ["connect", "update", "disconnect"]


def test_disconnect_by_post_does_the_same_as_delete(api: ApiClient, shop: Shop) -> None:
    item, first, depot = make_item(shop), get_first_location(shop), make_location(shop)
    set_stock(item, first, 2)
    set_stock(item, depot, 6)
    path = "inventory_levels/disconnect.json"

    responses = [api.post(path, build_level_body(item, place)) for place in (depot, depot, first)]

    assert [(answer.status_code, answer.json()) for answer in responses[:1]] == [(200, {})]
    assert [answer.status_code for answer in responses] == [200, 404, 422]
    assert get_ledger(item, depot) == [(6, 6, "count"), (-6, 0, "disconnected")]
    assert "inventory_levels/disconnect" in get_topics(shop, "inventory_levels/")


def test_the_last_level_of_an_item_cannot_be_deleted(api: ApiClient, shop: Shop) -> None:
    item, first, depot = make_item(shop), get_first_location(shop), make_location(shop)
    set_stock(item, first, 6)
    path = f"inventory_levels.json?inventory_item_id={item.pk}&location_id="

    refused = api.delete(f"{path}{first.pk}")
    api.post("inventory_levels/connect.json", build_level_body(item, depot))
    response = api.delete(f"{path}{first.pk}")

    assert get_errors(refused) == {"base": ["Shop location is the only location that stocks the item."]}
    assert response.status_code == 200
    assert get_ledger(item, first) == [(6, 6, "count"), (-6, 0, "disconnected")]
    assert api.delete(f"{path}{depot.pk}").status_code == 422


def test_an_item_moves_to_a_location_that_does_not_share(api: ApiClient, in_shop: Shop) -> None:
    item, first = make_item(in_shop), get_first_location(in_shop)
    service = make_location(in_shop, name="Service", legacy=True, permits_sku_sharing=False)
    set_stock(item, first, 6)

    refused = api.post("inventory_levels/connect.json", build_level_body(item, service))
    moved = api.post("inventory_levels/connect.json", build_level_body(item, service, relocate_if_necessary=True))

    assert "Shop location" in get_errors(refused)["base"][0]
    assert moved.status_code == 201
    assert list(InventoryLevel.objects.values_list("location_id", flat=True)) == [service.pk]
    assert get_ledger(item, first)[-1] == (-6, 0, "disconnected")


def test_every_route_of_items_and_levels_answers_as_its_clients_know_it(api: ApiClient, shop: Shop) -> None:
    item, depot = make_item(shop), make_location(shop)
    both = build_level_body(item, depot)
    path = f"inventory_items/{item.pk}.json"

    sku = {"inventory_item": {"sku": "MUG-2", "cost": "5.25"}}
    at_item, at_level = str(item.pk), f"inventory_levels.json?inventory_item_id={item.pk}&location_id={depot.pk}"

    answers = {
        "GET /inventory_items.json": api.get("inventory_items.json", ids=at_item),
        "GET /inventory_items/{id}.json": api.get(path),
        "PUT /inventory_items/{id}.json": api.put(path, sku),
        "POST /inventory_levels/connect.json": api.post("inventory_levels/connect.json", both),
        "POST /inventory_levels/set.json": api.post("inventory_levels/set.json", {**both, "available": 7}),
        "POST /inventory_levels/adjust.json": api.post(
            "inventory_levels/adjust.json", {**both, "available_adjustment": -2}
        ),
        "GET /inventory_levels.json": api.get("inventory_levels.json", inventory_item_ids=at_item),
    }
    deleted = api.delete(at_level)

    for route, response in answers.items():
        assert response.status_code == (201 if "connect" in route else 200), response.content
        assert_fits("inventory_item" if "items" in route else "inventory_level", route, response.json())
    assert answers["POST /inventory_levels/adjust.json"].json()["inventory_level"]["available"] == 5
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

    shown = api.put(f"inventory_items/{item.pk}.json", {"inventory_item": body}).json()["inventory_item"]

    changed = {"country_code_of_origin": "CA", "province_code_of_origin": "QC"}
    assert {name: shown[name] for name in body} == body | changed
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
        ("sku", "s" * 256),
        ("sku", {"a": 1}),
    ],
)
def test_an_item_refuses_what_does_not_fit(api: ApiClient, shop: Shop, field: str, value: object) -> None:
    path = f"inventory_items/{make_item(shop).pk}.json"
    before = api.get(path).json()

    assert list(get_errors(api.put(path, {"inventory_item": {field: value}}))) == [field]

    assert api.get(path).json() == before
    assert get_topics(shop, "inventory_items/") == ["inventory_items/create"]


@pytest.mark.parametrize(
    ("currency", "cost", "finer"), [("JPY", "5", "5.5"), ("USD", "5.25", "5.251"), ("KWD", "5.251", "5.2511")]
)
def test_costs_have_the_currencys_decimals(api: ApiClient, shop: Shop, currency: str, cost: str, finer: str) -> None:
    item = make_item(shop, cost="0")
    Shop.objects.filter(pk=shop.pk).update(currency=currency)
    path = f"inventory_items/{item.pk}.json"

    assert api.put(path, {"inventory_item": {"cost": finer}}).json() == {"errors": {"cost": ["is invalid"]}}
    assert api.put(path, {"inventory_item": {"cost": cost}}).json()["inventory_item"]["cost"] == cost
    assert api.get(path).json()["inventory_item"]["cost"] == cost


@pytest.mark.parametrize("country", ["US", None])
def test_a_province_goes_with_its_country(api: ApiClient, shop: Shop, country: str | None) -> None:
    item = make_item(shop, country_code_of_origin="CA", province_code_of_origin="QC")

    def set_country(code: str | None) -> tuple[str | None, str | None]:
        body = {"inventory_item": {"country_code_of_origin": code}}
        shown = api.put(f"inventory_items/{item.pk}.json", body).json()["inventory_item"]
        return shown["country_code_of_origin"], shown["province_code_of_origin"]

    assert [set_country("CA"), set_country(country)] == [("CA", "QC"), (country, None)]
