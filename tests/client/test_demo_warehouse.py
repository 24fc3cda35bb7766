"""End-to-end tests of an order and a warehouse over HTTP: server, dispatcher, jobs and demo warehouse."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import timezone

from apps.fulfillment.demo_warehouse import ApiClient, Warehouse
from apps.fulfillment.domain import service_polling
from apps.fulfillment.models import FulfillmentService, Pull
from apps.ground.tenancy import shop_scope
from apps.inventory.domain.stock import get_primary_location
from apps.jobs.domain import queue
from apps.jobs.models import Job
from apps.shops.models import Shop
from apps.webhooks.webhook_receiver import WebhookReceiver
from tests import factories
from tests.client.conftest import LiveServer
from tests.timing import wait_until
from tests.webhooks.scenarios import make_subscription, run_dispatchers

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]

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

    def order(self, order_id: int) -> dict[str, Any]:
        """Return the order as the API shows it."""
        matching_order: dict[str, Any] = self.interface.get(f"orders/{order_id}.json")["order"]
        return matching_order

    def parts(self, order_id: int) -> list[dict[str, Any]]:
        """Return the fulfillment orders of an order."""
        fulfillment_orders: list[dict[str, Any]] = self.interface.get(f"orders/{order_id}/fulfillment_orders.json")[
            "fulfillment_orders"
        ]
        return fulfillment_orders

    def states(self, order_id: int) -> list[tuple[str, str]]:
        """Return the statuses of an order's fulfillment orders."""
        return [(part["status"], part["request_status"]) for part in self.parts(order_id)]

    def ask(self, part: dict[str, Any], kind: str) -> None:
        """Send a ``fulfillment_request`` or ``cancellation_request`` for a fulfillment order."""
        self.interface.post(f"fulfillment_orders/{part['id']}/{kind}.json", {kind: {"message": "Please."}})

    def wait(self, ask: Callable[[], Any], value: object) -> None:
        """Wait until the callable returns the value."""
        wait_until(ask, lambda results: results == value, seconds=60)


@pytest.fixture
def warehouse(server: LiveServer, server_shop: Shop, settings: Any) -> Iterator[Warehouse]:
    settings.OUTGOING_ALLOW, settings.BRAND = ["127.0.0.1"], "shopify"
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
        assert (part["assigned_location_id"], part["status"], part["request_status"]) == (
            warehouse.service["location_id"],
            "open",
            "unsubmitted",
        )

        merchant.ask(part, "fulfillment_request")
        merchant.wait(lambda: merchant.order(order)["fulfillment_status"], "fulfilled")

        (caught,) = catcher.wait_for(1)
    (fulfillment,) = merchant.order(order)["fulfillments"]
    assert (fulfillment["tracking_number"], fulfillment["tracking_company"]) == (f"DW{part['id']}", "Demo Parcel")
    assert (fulfillment["status"], fulfillment["service"], fulfillment["line_items"][0]["quantity"]) == (
        "success",
        warehouse.service["handle"],
        2,
    )
    assert caught.get_header("-Topic") == "fulfillments/create"
    assert [status for status, _ in merchant.states(order)] == ["closed"]
    assert "POST /fulfillment_order_notification" in warehouse.calls
    assert warehouse.stock == {"MUG": 8}
    for status in ("in_transit", "delivered"):
        path = f"orders/{order}/fulfillments/{fulfillment['id']}/events.json"
        merchant.interface.post(path, {"event": {"status": status}})
    assert merchant.order(order)["fulfillments"][0]["shipment_status"] == "delivered"


def test_what_is_given_back_is_sent_from_a_merchants_location(
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

    finished_order = merchant.order(order)
    assert finished_order["fulfillment_status"] == "fulfilled"
    assert [(form_data["service"], form_data["location_id"]) for form_data in finished_order["fulfillments"]] == [
        ("manual", own)
    ]


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
        service_polling.pull_now(service, Pull.Kind.TRACKING, at=timezone.now())
    merchant.work()

    (fulfillment,) = merchant.order(order)["fulfillments"]
    assert warehouse.numbers == {fulfillment["name"]: fulfillment["tracking_number"]}
    assert "order_names%5B%5D=%231001.1" in warehouse.calls[-1]
