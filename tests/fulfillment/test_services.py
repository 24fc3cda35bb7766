import pytest
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.fulfillment.models import FulfillmentOrder, FulfillmentService
from apps.inventory.domain import stock
from apps.inventory.models import InventoryLevel, Location
from apps.shops.domain.app_installation import uninstall_app
from tests.support import factories
from tests.support.api_client import ApiClient, ClientWith, get_errors, parse_links
from tests.support.factories.fulfillment import make_fulfillment_order, make_service
from tests.support.factories.inventory import (
    get_available,
    get_first_location,
    get_ledger,
    make_item,
    make_location,
    sell,
    set_stock,
)
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits

NAME, URL = "North Depot", "https://depot.example/callbacks"
BY: Attrs = {"actor": "system", "at": timezone.now()}


def create_service_by_api(api: ApiClient, **fields: object) -> JsonObject:
    body = {"name": NAME, "callback_url": URL, "inventory_management": True, **fields}
    response = api.post("fulfillment_services.json", {"fulfillment_service": body})
    assert response.status_code == 201, response.content
    return response.json()["fulfillment_service"]


def list_service_ids(api: ApiClient, **query: str) -> list[int]:
    return [row["id"] for row in api.get("fulfillment_services.json", **query).json()["fulfillment_services"]]


def test_answers_fit_the_wire_tables(api: ApiClient) -> None:
    old = api.at("2026-01")
    created = old.post("fulfillment_services.json", {"fulfillment_service": {"name": NAME, "callback_url": URL}})
    path = f"fulfillment_services/{created.json()['fulfillment_service']['id']}.json"

    for route, response in {
        "POST /fulfillment_services.json": created,
        "GET /fulfillment_services.json": old.get("fulfillment_services.json"),
        "GET /fulfillment_services/{id}.json": old.get(path),
        "PUT /fulfillment_services/{id}.json": old.put(path, {"fulfillment_service": {"name": "South Depot"}}),
    }.items():
        assert_fits("fulfillment_service", route, response.json())
    assert old.delete(path).json() == {}


def test_create_brings_a_location_of_its_name(api: ApiClient, in_shop: Shop) -> None:
    service = create_service_by_api(api)

    location = Location.objects.get(pk=service.pop("location_id"))
    assert (location.name, location.legacy, location.active) == (NAME, True, True)
    assert service == {
        "id": service["id"],
        "name": NAME,
        "email": None,
        "service_name": NAME,
        "handle": "north-depot",
        "fulfillment_orders_opt_in": True,
        "include_pending_stock": False,
        "provider_id": None,
        "callback_url": f"{URL}/",
        "tracking_support": False,
        "inventory_management": True,
        "admin_graphql_api_id": f"gid://platform/FulfillmentService/{service['id']}",
        "requires_shipping_method": True,
    }
    recorded = Event.objects.order_by("-id").values_list("topic", "subject_id")[:2]
    assert [*recorded] == [("fulfillment_services/create", service["id"]), ("locations/create", location.pk)]


def test_sku_sharing_is_known_until_it_goes(api: ApiClient, in_shop: Shop) -> None:
    old = api.at("2026-01")
    path = f"fulfillment_services/{create_service_by_api(old, permits_sku_sharing=False)['id']}.json"

    assert old.get(path).json()["fulfillment_service"]["permits_sku_sharing"] is False
    assert Location.objects.get(name=NAME).permits_sku_sharing is False
    assert "permits_sku_sharing" not in api.get(path).json()["fulfillment_service"]
    assert api.put(path, {"fulfillment_service": {"permits_sku_sharing": True}}).status_code == 200
    assert old.get(path).json()["fulfillment_service"]["permits_sku_sharing"] is False


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("name", "", "can't be blank"),
        ("name", "a" * 256, "is too long (maximum is 255 characters)"),
        ("name", "Manual", "has already been taken"),
        ("name", "Taken", "has already been taken"),
        ("callback_url", None, "can't be blank"),
        ("callback_url", "depot", "must be secure (HTTPS)"),
        ("callback_url", "https://", "is not a valid URL"),
        ("callback_url", "https://depot.example/" + "ä" * 1000, "is invalid"),
        ("callback_url", "http://depot.example/", "must be secure (HTTPS)"),
        ("callback_url", "https://127.0.0.1/", "is not an allowed address"),
        ("callback_url", "https://depot.example/?a=1", "is invalid"),
        ("tracking_support", "perhaps", "is invalid"),
    ],
)
def test_invalid_services_are_refused(api: ApiClient, in_shop: Shop, field: str, value: object, error: str) -> None:
    make_service(api.installation.app, name="Taken")
    body = {"name": NAME, "callback_url": URL, field: value}

    assert get_errors(api.post("fulfillment_services.json", {"fulfillment_service": body})) == {field: [error]}
    assert Location.objects.filter(legacy=True).count() == FulfillmentService.objects.count() == 1


def test_a_callback_url_is_kept_in_its_canonical_form(api: ApiClient) -> None:
    url = create_service_by_api(api, callback_url="HTTPS://Depot.Example:443/höhe")["callback_url"]

    assert url == "https://depot.example/h%C3%B6he/"


def test_names_with_equal_handles_get_different_handles(api: ApiClient) -> None:
    handles = [create_service_by_api(api, name=name)["handle"] for name in ("A B", "A-B", "仓库", "!")]

    assert handles == ["a-b", "a-b-1", "cang-ku", "service"]


def test_a_list_shows_the_apps_own_unless_all_are_asked_for(api: ApiClient, client_with: ClientWith) -> None:
    other = client_with("write_fulfillments")
    mine, theirs = create_service_by_api(api)["id"], create_service_by_api(other, name="Theirs")["id"]

    assert list_service_ids(api) == list_service_ids(api, scope="current_client") == [mine]
    assert list_service_ids(other) == [theirs]
    assert list_service_ids(api, scope="all") == [mine, theirs]
    assert api.get("fulfillment_services.json", scope="mine").status_code == 400
    page = api.get("fulfillment_services.json", scope="all", limit="1")
    following = api.get(parse_links(page)["next"])
    assert [row["id"] for row in following.json()["fulfillment_services"]] == [theirs]


def test_a_service_is_written_only_by_its_app(api: ApiClient, client_with: ClientWith, in_shop: Shop) -> None:
    path = f"fulfillment_services/{create_service_by_api(api)['id']}.json"
    other = client_with("write_fulfillments")

    assert other.get(path).status_code == 200
    assert other.put(path, {"fulfillment_service": {"name": "Mine now"}}).status_code == 404
    assert other.delete(path).status_code == 404
    assert FulfillmentService.objects.get().name == NAME


def test_a_new_name_is_the_locations_and_leaves_the_handle(api: ApiClient, in_shop: Shop) -> None:
    service = create_service_by_api(api)
    path = f"fulfillment_services/{service['id']}.json"

    changed = api.put(path, {"fulfillment_service": {"name": "South Depot", "callback_url": f"{URL}//"}}).json()
    second_body = api.put(path, {"fulfillment_service": changed["fulfillment_service"]}).json()

    renamed = {**service, "name": "South Depot", "service_name": "South Depot"}
    assert changed["fulfillment_service"] == second_body["fulfillment_service"] == renamed
    assert Location.objects.get(legacy=True).name == "South Depot"
    assert Event.objects.filter(topic="fulfillment_services/update").count() == 1


def test_variants_may_name_a_service(api: ApiClient) -> None:
    create_service_by_api(api)

    def product(handle: str) -> int:
        body = {"title": "Mug", "variants": [{"fulfillment_service": handle}]}
        return api.post("products.json", {"product": body}).status_code

    assert [product(handle) for handle in ("manual", "north-depot", "south-depot")] == [201, 201, 422]


def test_delete_takes_the_location_along(api: ApiClient, in_shop: Shop) -> None:
    service = create_service_by_api(api)
    item = make_item(in_shop)
    stock.connect_item(item, Location.objects.get(pk=service["location_id"]), **BY)

    assert api.delete(f"fulfillment_services/{service['id']}.json").json() == {}

    assert not FulfillmentService.objects.exists()
    assert not Location.objects.filter(legacy=True).exists()
    assert get_available(item, get_first_location(in_shop)) == 0
    topics = Event.objects.order_by("-id").values_list("topic", flat=True)[:3]
    assert set(topics) == {"fulfillment_services/delete", "inventory_levels/disconnect", "locations/delete"}


def test_a_location_with_a_history_is_only_deactivated(api: ApiClient, in_shop: Shop) -> None:
    service = create_service_by_api(api)
    depot, item = Location.objects.get(pk=service["location_id"]), make_item(in_shop)
    set_stock(item, depot, 5)

    assert api.delete(f"fulfillment_services/{service['id']}.json").status_code == 200

    depot.refresh_from_db()
    assert (depot.active, depot.legacy) == (False, True)
    assert not InventoryLevel.objects.filter(location=depot).exists()
    assert get_ledger(item, depot)[-1] == (-5, 0, "disconnected")
    assert get_available(item, get_first_location(in_shop)) == 0
    assert create_service_by_api(api)["handle"] == service["handle"]


def test_delete_can_move_the_stock(api: ApiClient, in_shop: Shop) -> None:
    service, yard = create_service_by_api(api), make_location(in_shop, name="Yard")
    depot, mug, jug = Location.objects.get(pk=service["location_id"]), make_item(in_shop), make_item(in_shop)
    set_stock(mug, depot, 5)
    set_stock(mug, yard, 2)
    sell(jug, depot, 3, oversell=True, **BY)
    path = f"fulfillment_services/{service['id']}.json?inventory_action=transfer"

    assert api.delete(f"{path}&location_id={yard.pk}").status_code == 200

    assert (get_available(mug, yard), get_available(jug, yard)) == (7, -3)
    assert not InventoryLevel.objects.filter(location=depot).exists()


def test_variants_of_a_service_that_is_gone_are_the_merchants(api: ApiClient, in_shop: Shop) -> None:
    service = create_service_by_api(api)
    body = {"title": "Mug", "variants": [{"fulfillment_service": service["handle"]}]}
    product = api.post("products.json", {"product": body}).json()["product"]

    assert api.delete(f"fulfillment_services/{service['id']}.json").status_code == 200

    (variant,) = api.get(f"products/{product['id']}.json").json()["product"]["variants"]
    assert variant["fulfillment_service"] == "manual"
    assert Event.objects.filter(topic="products/update", subject_id=product["id"]).count() == 1


@pytest.mark.parametrize(
    ("query", "errors"),
    [
        ("inventory_action=burn", {"inventory_action": ["is not included in the list"]}),
        ("location_id=7", {"location_id": ["must exist"]}),
        ("location_id=x", {"location_id": ["is invalid"]}),
        ("location_id={own}", {"location_id": ["must be an active location of the shop"]}),
    ],
)
def test_delete_refuses_what_cannot_take_over(api: ApiClient, in_shop: Shop, query: str, errors: object) -> None:
    service = create_service_by_api(api)

    response = api.delete(f"fulfillment_services/{service['id']}.json?{query.format(own=service['location_id'])}")

    assert get_errors(response) == errors
    assert FulfillmentService.objects.filter(pk=service["id"]).exists()


def test_an_app_that_leaves_takes_its_services_along(in_shop: Shop) -> None:
    """Check that the merchant takes over the service's items, and that nothing refers to the deleted service."""
    installation = factories.make_installation(in_shop)
    service, other = make_service(installation.app), make_service(factories.make_installation(in_shop).app)
    row = make_fulfillment_order(service, request_status="accepted", status="in_progress")
    location = service.location_id

    uninstall_app(installation, **BY)

    assert list(FulfillmentService.objects.all()) == [other]
    assert not Location.objects.filter(pk=location, active=True).exists()
    row.refresh_from_db()
    (fulfillment_order,) = FulfillmentOrder.objects.filter(order=row.order_id, status="open")
    assert (row.status, fulfillment_order.assigned_location_id) == ("closed", get_first_location(in_shop).pk)
