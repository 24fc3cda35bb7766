import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import shopify
from django.utils import timezone
from pyactiveresource.connection import ResourceInvalid, ResourceNotFound
from pytest_django import Settings

from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Installation, Shop
from apps.core.tenancy.scope import shop_scope
from apps.demo.warehouse import ApiClient, Warehouse
from apps.demo.webhook_receiver import WebhookReceiver
from apps.fulfillment.domain.fulfillment_orders import routing
from apps.fulfillment.domain.services import polling
from apps.fulfillment.models import FulfillmentService, Pull, PullAttempt
from apps.inventory.domain.stock import get_primary_location
from tests.client.resources import change, create
from tests.support import factories
from tests.support.factories.inventory import get_available, make_item, set_stock
from tests.support.servers.live import Connect, LiveServer, stop_process
from tests.support.timing import wait_until
from tests.support.types import Json, JsonObject
from tests.support.webhooks import make_subscription, run_dispatchers

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]

MUG = {"title": "Mug", "price": "10.00", "quantity": 2}
ADDRESS = {"address1": "Storgatan 1", "city": "Lund", "country": "Sweden"}


class FulfillmentOrder(shopify.ShopifyResource):
    """The client class for fulfillment orders, which the library lacks."""

    _plural = "fulfillment_orders"
    _singular = "fulfillment_order"


def create_routed_order(installation: Installation, **line: object) -> Any:
    """Order two mugs, route the order and return its fulfillment order as the client reads it."""
    order = shopify.Order.create({"line_items": [{**MUG, **line}], "shipping_address": ADDRESS, "email": "a@b.example"})
    with shop_scope(installation.shop):
        routing.route_order(order.id, at=timezone.now())
    [fulfillment_order] = shopify.FulfillmentOrders.find(order_id=order.id)
    return fulfillment_order


def perform_action(row: Any, action: str, body: Any = None) -> Json:
    fulfillment_order = FulfillmentOrder({"id": row.id})
    return json.loads(fulfillment_order.post(action, json.dumps(body).encode() if body else b"").body)


def test_units_are_sent_followed_and_taken_back(api_client_factory: Connect) -> None:
    row = create_routed_order(api_client_factory())
    assert (row.status, row.request_status, row.destination.city) == ("open", "unsubmitted", "Lund")
    assert "create_fulfillment" in row.supported_actions

    part = {"fulfillment_order_id": row.id}
    fulfillment = shopify.FulfillmentV2.create({"line_items_by_fulfillment_order": [part], "notify_customer": False})
    fulfillment.update_tracking({"number": "1Z5R89390357567127"}, False)

    [listed] = shopify.Fulfillment.find(order_id=row.order_id)
    assert (listed.name, listed.status, listed.tracking_company) == ("#1001.1", "success", "UPS")
    assert [line.quantity for line in listed.line_items] == [2]
    assert shopify.Fulfillment.find(fulfillment.id, order_id=row.order_id).tracking_number == "1Z5R89390357567127"
    assert shopify.Fulfillment.count(order_id=row.order_id) == 1
    assert shopify.Order.find(row.order_id).fulfillment_status == "fulfilled"
    fulfillment.post("cancel")
    assert shopify.Order.find(row.order_id).fulfillment_status is None
    with pytest.raises(ResourceInvalid):
        fulfillment.post("cancel")


def test_events_tell_where_a_parcel_is(api_client_factory: Connect) -> None:
    row = create_routed_order(api_client_factory())
    fulfillment = shopify.FulfillmentV2.create({"line_items_by_fulfillment_order": [{"fulfillment_order_id": row.id}]})
    index = {"order_id": row.order_id, "fulfillment_id": fulfillment.id}

    event = shopify.FulfillmentEvent({**index, "status": "in_transit", "city": "Lund"}, prefix_options=index)
    assert event.save()

    [found] = shopify.FulfillmentEvent.find(**index)
    assert (found.status, found.city, found.id) == ("in_transit", "Lund", event.id)
    assert shopify.Fulfillment.find(fulfillment.id, order_id=row.order_id).shipment_status == "in_transit"
    with pytest.raises(ResourceNotFound):
        shopify.FulfillmentEvent.find(order_id=row.order_id, fulfillment_id=1)


def test_a_service_is_asked_and_answers(api_client_factory: Connect) -> None:
    installation = api_client_factory()
    service = shopify.FulfillmentService.create({"name": "North Depot", "callback_url": "https://depot.example/"})
    row = create_routed_order(installation, fulfillment_service="north-depot")
    assert row.assigned_location_id == service.location_id

    request = perform_action(row, "fulfillment_request", {"fulfillment_request": {"message": "Soon"}})
    accepted = perform_action(row, "fulfillment_request/accept")["fulfillment_order"]

    assert request["submitted_fulfillment_order"]["request_status"] == "submitted"
    assert (accepted["status"], accepted["request_status"]) == ("in_progress", "accepted")
    with pytest.raises(ResourceInvalid):
        perform_action(row, "cancel")
    requested = perform_action(row, "cancellation_request")["fulfillment_order"]
    assert requested["request_status"] == "cancellation_requested"
    assert perform_action(row, "cancellation_request/accept")["fulfillment_order"]["status"] == "cancelled"
    statuses = [part.status for part in shopify.FulfillmentOrders.find(order_id=row.order_id)]
    assert statuses == ["cancelled", "open"]


def test_units_wait_and_move(api_client_factory: Connect) -> None:
    row = create_routed_order(api_client_factory())

    held = perform_action(row, "hold", {"fulfillment_hold": {"reason": "awaiting_payment"}})["fulfillment_order"]
    perform_action(row, "release_hold")

    assert held["fulfillment_holds"] == [{"reason": "awaiting_payment", "reason_notes": ""}]
    places = FulfillmentOrder({"id": row.id}).get("locations_for_move")
    assert [index["message"] for index in places] == ["Current location."]


VALUES = {"callback_url": "https://depot.example/callbacks", "inventory_management": True}


def test_services_are_made_listed_changed_and_removed_by_their_app(api_client_factory: Connect) -> None:
    api_client_factory()
    theirs = create(shopify.FulfillmentService, **VALUES, name="North Depot")
    api_client_factory()
    service = create(shopify.FulfillmentService, **VALUES, name="South Depot")
    service = change(service, name="East Depot")

    assert [(row.name, row.handle) for row in shopify.FulfillmentService.find()] == [("East Depot", "south-depot")]
    assert [row.id for row in shopify.FulfillmentService.find(scope="all")] == [theirs.id, service.id]
    assert shopify.Location.find(service.location_id).name == "East Depot"
    assert (service.callback_url, service.service_name) == ("https://depot.example/callbacks/", "East Depot")
    service.destroy()
    for gone in (service, theirs):
        with pytest.raises(ResourceNotFound):
            shopify.FulfillmentService.find(gone.id).destroy()


@pytest.fixture
def reachable(settings: Settings) -> None:
    """Allow calls of the warehouse, and use the brand of the tests' server."""
    settings.OUTGOING_ALLOW, settings.BRAND = ["127.0.0.1"], "shopify"


def test_a_warehouse_reports_its_stock(server: LiveServer, server_shop: Shop, reachable: None) -> None:
    installation = factories.make_installation(server_shop)
    interface = ApiClient(server.url, factories.make_token(installation))
    with shop_scope(server_shop), Warehouse(interface, [installation.app.api_secret], stock={"MUG": 12}) as warehouse:
        service = FulfillmentService.objects.get(pk=warehouse.service["id"])
        mug = make_item(server_shop, sku="MUG")
        set_stock(mug, service.location, 1)

        assert queue.run_job(polling.pull_now(service, Pull.Kind.STOCK, at=timezone.now()).key)
        assert get_available(mug, service.location) == 12
        warehouse.behavior.bad_response, warehouse.stock = "html", {"MUG": 13}
        assert queue.run_job(polling.pull_now(service, Pull.Kind.STOCK, at=timezone.now()).key)

        assert get_available(mug, service.location) == 12
        assert [row.outcome for row in PullAttempt.objects.order_by("id")] == ["ok", "bad_answer"]
        assert all(call.startswith("GET /fetch_stock?shop=") for call in warehouse.calls)
    with Warehouse(interface, [installation.app.api_secret]) as second_warehouse:
        assert second_warehouse.service["id"] == service.pk
        assert second_warehouse.service["callback_url"] == second_warehouse.url


def test_the_command_makes_its_app_and_works_until_it_is_stopped(server: LiveServer, server_shop: Shop) -> None:
    options = ("--shop", server_shop.domain, "--port", "0", "--stock", "MUG=3")
    running = server.start("manage", "demo_warehouse", *options)
    try:
        with shop_scope(server_shop):
            service = wait_until(FulfillmentService.objects.first, bool, seconds=60)
        assert service
        assert (service.name, service.callback_url.startswith("http://127.0.0.1:")) == ("Demo warehouse", True)
    finally:
        stop_process(running)
    assert running.returncode == 0


SCOPES = ("write_fulfillments", "write_assigned_fulfillment_orders")


class Merchant:
    """The merchant's app, which sells one mug and manages the orders."""

    def __init__(self, shop: Shop, interface: ApiClient, handle: str) -> None:
        self.shop, self.interface = shop, interface
        variant = {"price": "10.00", "sku": "MUG", "fulfillment_service": handle}
        product = interface.post("products.json", {"product": {"title": "Mug", "variants": [variant]}})["product"]
        self.variant_id = product["variants"][0]["id"]

    def sell(self, quantity: int) -> int:
        """Create an order, run the jobs that route it, and return its id."""
        lines = [{"variant_id": self.variant_id, "quantity": quantity}]
        order = self.interface.post("orders.json", {"order": {"email": "ada@example.com", "line_items": lines}})
        self.work()
        return int(order["order"]["id"])

    def work(self) -> None:
        """Run all waiting jobs, as the worker does."""
        with shop_scope(self.shop):
            keys = list(Job.objects.filter(state=Job.State.WAITING).order_by("id").values_list("key", flat=True))
        for key in keys:
            queue.run_job(key)

    def order(self, order_id: int) -> JsonObject:
        order: JsonObject = self.interface.get(f"orders/{order_id}.json")["order"]
        return order

    def parts(self, order_id: int) -> list[JsonObject]:
        """Return the fulfillment orders of an order."""
        response: JsonObject = self.interface.get(f"orders/{order_id}/fulfillment_orders.json")
        return list(response["fulfillment_orders"])

    def states(self, order_id: int) -> list[tuple[str, str]]:
        """Return the statuses of an order's fulfillment orders."""
        return [(part["status"], part["request_status"]) for part in self.parts(order_id)]

    def ask(self, part: JsonObject, kind: str) -> None:
        """Send a ``fulfillment_request`` or ``cancellation_request`` for a fulfillment order."""
        self.interface.post(f"fulfillment_orders/{part['id']}/{kind}.json", {kind: {"message": "Please."}})

    def wait(self, ask: Callable[[], object], value: object) -> None:
        wait_until(ask, lambda results: results == value, seconds=60)


@pytest.fixture
def warehouse(server: LiveServer, server_shop: Shop, reachable: None) -> Iterator[Warehouse]:
    installation = factories.make_installation(server_shop, SCOPES)
    interface = ApiClient(server.url, factories.make_token(installation))
    with Warehouse(interface, [installation.app.api_secret], stock={"MUG": 10}) as running:
        yield running


@pytest.fixture
def merchant(server: LiveServer, server_shop: Shop, warehouse: Warehouse) -> Merchant:
    token = factories.make_token(factories.make_installation(server_shop))
    return Merchant(server_shop, ApiClient(server.url, token), warehouse.service["handle"])


def test_an_order_goes_from_routing_to_the_door(merchant: Merchant, warehouse: Warehouse, server_shop: Shop) -> None:
    listener = factories.make_installation(server_shop)
    with WebhookReceiver([listener.app.api_secret]) as catcher, run_dispatchers():
        make_subscription(listener, catcher.url, topic="fulfillments/create")
        order = merchant.sell(2)
        (part,) = merchant.parts(order)
        assert part["assigned_location_id"] == warehouse.service["location_id"]
        assert (part["status"], part["request_status"]) == ("open", "unsubmitted")

        merchant.ask(part, "fulfillment_request")
        merchant.wait(lambda: merchant.order(order)["fulfillment_status"], "fulfilled")

        (caught,) = catcher.wait_for(1)
    (fulfillment,) = merchant.order(order)["fulfillments"]
    assert (fulfillment["tracking_number"], fulfillment["tracking_company"]) == (f"DW{part['id']}", "Demo Parcel")
    assert (fulfillment["status"], fulfillment["service"]) == ("success", warehouse.service["handle"])
    assert fulfillment["line_items"][0]["quantity"] == 2
    assert caught.get_header("-Topic") == "fulfillments/create"
    assert [status for status, _ in merchant.states(order)] == ["closed"]
    assert "POST /fulfillment_order_notification" in warehouse.calls
    assert warehouse.stock == {"MUG": 8}
    for status in ("in_transit", "delivered"):
        path = f"orders/{order}/fulfillments/{fulfillment['id']}/events.json"
        merchant.interface.post(path, {"event": {"status": status}})
    assert merchant.order(order)["fulfillments"][0]["shipment_status"] == "delivered"


def test_items_returned_by_a_service_are_sent_by_the_shop(
    merchant: Merchant, warehouse: Warehouse, server_shop: Shop
) -> None:
    warehouse.behavior.ships = False
    order = merchant.sell(3)
    with run_dispatchers():
        (part,) = merchant.parts(order)
        merchant.ask(part, "fulfillment_request")
        merchant.wait(lambda: merchant.states(order), [("in_progress", "accepted")])
        merchant.ask(part, "cancellation_request")
        merchant.wait(lambda: merchant.states(order), [("cancelled", "cancellation_accepted"), ("open", "unsubmitted")])
    with shop_scope(server_shop):
        own = get_primary_location().pk

    replacement = merchant.parts(order)[1]
    assert [line["quantity"] for line in replacement["line_items"]] == [3]
    path = f"fulfillment_orders/{replacement['id']}/move.json"
    moved = merchant.interface.post(path, {"fulfillment_order": {"new_location_id": own}})["moved_fulfillment_order"]
    assert moved["assigned_location_id"] == own
    lines = [{"fulfillment_order_id": moved["id"]}]
    merchant.interface.post("fulfillments.json", {"fulfillment": {"line_items_by_fulfillment_order": lines}})

    finished = merchant.order(order)
    assert finished["fulfillment_status"] == "fulfilled"
    assert [(row["service"], row["location_id"]) for row in finished["fulfillments"]] == [("manual", own)]


def test_a_warehouse_may_reject_and_may_insist(merchant: Merchant, warehouse: Warehouse) -> None:
    warehouse.behavior.rejects = True
    order = merchant.sell(1)
    with run_dispatchers():
        (part,) = merchant.parts(order)
        merchant.ask(part, "fulfillment_request")
        merchant.wait(lambda: merchant.states(order), [("open", "rejected")])
        warehouse.behavior.rejects, warehouse.behavior.insists, warehouse.behavior.ships = False, True, False
        merchant.ask(part, "fulfillment_request")
        merchant.wait(lambda: merchant.states(order), [("in_progress", "accepted")])
        merchant.ask(part, "cancellation_request")
        merchant.wait(lambda: merchant.states(order), [("in_progress", "cancellation_rejected")])


def test_numbers_that_come_later_are_asked_for(merchant: Merchant, warehouse: Warehouse, server_shop: Shop) -> None:
    warehouse.behavior.numbers_later = True
    order = merchant.sell(1)
    with run_dispatchers():
        merchant.ask(merchant.parts(order)[0], "fulfillment_request")
        merchant.wait(lambda: merchant.order(order)["fulfillment_status"], "fulfilled")
    assert merchant.order(order)["fulfillments"][0]["tracking_number"] is None

    with shop_scope(server_shop):
        service = FulfillmentService.objects.get()
        polling.pull_now(service, Pull.Kind.TRACKING, at=timezone.now())
    merchant.work()

    (fulfillment,) = merchant.order(order)["fulfillments"]
    assert warehouse.numbers == {fulfillment["name"]: fulfillment["tracking_number"]}
    assert "order_names%5B%5D=%231001.1" in warehouse.calls[-1]
