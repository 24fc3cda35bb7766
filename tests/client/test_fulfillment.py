"""Tests with the real client: fulfillment services and orders, fulfillments, tracking, events."""

import json
from typing import Any

import pytest
import shopify
from django.utils import timezone
from pyactiveresource.connection import ResourceInvalid, ResourceNotFound

from apps.fulfillment.domain import routing
from apps.ground.tenancy import shop_scope
from apps.shops.models import Installation
from tests.client.conftest import Connect

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]

MUG = {"title": "Mug", "price": "10.00", "quantity": 2}
ADDRESS = {"address1": "Storgatan 1", "city": "Lund", "country": "Sweden"}


class FulfillmentOrder(shopify.ShopifyResource):
    """The client class for fulfillment orders, which the library lacks."""

    _plural = "fulfillment_orders"
    _singular = "fulfillment_order"


def create_routed_order(installation: Installation, **line: Any) -> Any:
    """Order two mugs, route the order and return its fulfillment order as the client reads it."""
    order = shopify.Order.create({"line_items": [{**MUG, **line}], "shipping_address": ADDRESS, "email": "a@b.example"})
    with shop_scope(installation.shop):
        routing.route_order(order.id, at=timezone.now())
    [fulfillment_order] = shopify.FulfillmentOrders.find(order_id=order.id)
    return fulfillment_order


def perform_action(row: Any, action: str, body: Any = None) -> Any:
    """Perform an action on a fulfillment order with the client."""
    fulfillment_order = FulfillmentOrder({"id": row.id})
    return json.loads(fulfillment_order.post(action, json.dumps(body).encode() if body else b"").body)


def test_units_are_sent_followed_and_taken_back(api_client_factory: Connect) -> None:
    row = create_routed_order(api_client_factory())
    assert (row.status, row.request_status, row.destination.city) == ("open", "unsubmitted", "Lund")
    assert "create_fulfillment" in row.supported_actions

    part = {"fulfillment_order_id": row.id}
    fulfillment = shopify.FulfillmentV2.create({"line_items_by_fulfillment_order": [part], "notify_customer": False})
    fulfillment.update_tracking({"number": "1Z5R89390357567127"}, False)

    [listed_fulfillment] = shopify.Fulfillment.find(order_id=row.order_id)
    assert (listed_fulfillment.name, listed_fulfillment.status, listed_fulfillment.tracking_company) == (
        "#1001.1",
        "success",
        "UPS",
    )
    assert [line.quantity for line in listed_fulfillment.line_items] == [2]
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

    [fulfillment_event] = shopify.FulfillmentEvent.find(**index)
    assert (fulfillment_event.status, fulfillment_event.city, fulfillment_event.id) == ("in_transit", "Lund", event.id)
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
    assert (
        perform_action(row, "cancellation_request")["fulfillment_order"]["request_status"] == "cancellation_requested"
    )
    assert perform_action(row, "cancellation_request/accept")["fulfillment_order"]["status"] == "cancelled"
    statuses = [fulfillment_order.status for fulfillment_order in shopify.FulfillmentOrders.find(order_id=row.order_id)]
    assert statuses == ["cancelled", "open"]


def test_units_wait_and_move(api_client_factory: Connect) -> None:
    row = create_routed_order(api_client_factory())

    fulfillment_order = perform_action(row, "hold", {"fulfillment_hold": {"reason": "awaiting_payment"}})[
        "fulfillment_order"
    ]
    perform_action(row, "release_hold")

    assert fulfillment_order["fulfillment_holds"] == [{"reason": "awaiting_payment", "reason_notes": ""}]
    places = FulfillmentOrder({"id": row.id}).get("locations_for_move")
    assert [index["message"] for index in places] == ["Current location."]
