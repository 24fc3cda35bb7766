import pytest
from django.utils import timezone

from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.fulfillment.domain.fulfillment_orders import requests
from apps.fulfillment.domain.services import changes
from apps.fulfillment.models import FulfillmentOrder
from apps.inventory.domain import stock
from apps.inventory.models import Location
from apps.orders.models import LineItem
from apps.webhooks.domain.engine import fan_out
from apps.webhooks.models import Delivery
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.factories.fulfillment import (
    find_wrong_quantities,
    make_event,
    make_fulfillment,
    make_fulfillment_order,
    make_service,
)
from tests.support.factories.orders import get_available, make_variant
from tests.support.webhooks import make_subscription

pytestmark = pytest.mark.usefixtures("allow_loopback")

BY: Attrs = {"actor": "system"}


def test_an_app_receives_events_within_its_scopes(in_shop: Shop) -> None:
    topic = "fulfillment_orders/fulfillment_request_submitted"
    mine = factories.make_installation(in_shop, ["read_assigned_fulfillment_orders"])
    manager = factories.make_installation(in_shop, ["read_third_party_fulfillment_orders"])
    for installation in (mine, manager):
        make_subscription(installation, f"http://127.0.0.1:9/{installation.pk}", topic=topic)
    rows = [make_fulfillment_order(make_service(app)) for app in (mine.app, factories.make_installation(in_shop).app)]

    for row in rows:
        requests.request_fulfillment(row, at=timezone.now(), **BY)
    fan_out.create_deliveries()

    reported = set(Delivery.objects.filter(topic=topic).values_list("app_id", "event__subject_id"))
    assert reported == {(mine.app_id, rows[0].pk), *((manager.app_id, row.pk) for row in rows)}


@pytest.mark.parametrize("topic", ["fulfillments/create", "fulfillment_events/create", "fulfillments/update"])
def test_payloads_equal_the_rest_response(topic: str, in_shop: Shop, api: ApiClient) -> None:
    make_subscription(api.installation, "http://127.0.0.1:9/", topic=topic)

    fulfillment = make_fulfillment(make_fulfillment_order())
    event = make_event(fulfillment)
    fan_out.create_deliveries()

    [delivery] = Delivery.objects.filter(topic=topic)
    assert delivery.event is not None
    assert delivery.event.payload is not None
    payload = delivery.event.payload["2026-10"]
    path = f"orders/{fulfillment.order_id}/fulfillments/{fulfillment.pk}"
    if topic == "fulfillment_events/create":
        assert payload == api.get(f"{path}/events/{event.pk}.json").json()["fulfillment_event"]
    elif topic == "fulfillments/update":
        assert payload["shipment_status"] == "in_transit"
    else:
        assert (payload["id"], payload["shipment_status"]) == (fulfillment.pk, None)


def test_a_service_is_called_once_for_each_request(in_shop: Shop, api: ApiClient) -> None:
    row = make_fulfillment_order(make_service(api.installation.app))
    path = f"fulfillment_orders/{row.pk}"

    for action in (*["fulfillment_request"] * 2, "fulfillment_request/accept", *["cancellation_request"] * 2):
        api.post(f"{path}/{action}.json")

    calls = Delivery.objects.filter(topic="fulfillment_order_notification").order_by("pk")
    bodies = [bytes(call.payload.body) for call in calls if call.payload is not None]
    assert bodies == [b'{"kind":"FULFILLMENT_REQUEST"}', b'{"kind":"CANCELLATION_REQUEST"}']


def test_items_of_a_service_are_sent_by_its_successor(in_shop: Shop, api: ApiClient) -> None:
    service = make_service(api.installation.app)
    variant = make_variant(in_shop, stock=9, fulfillment_service=service.handle)
    line = {"variant_id": variant.pk, "quantity": 2}
    options: Attrs = {"lines": [line], "inventory_behaviour": "decrement_ignoring_policy"}
    for status, request in (("open", "submitted"), ("in_progress", "accepted"), ("on_hold", "unsubmitted")):
        make_fulfillment_order(service, status=status, request_status=request, **options)
    make_fulfillment(make_fulfillment_order(service, status="in_progress", request_status="accepted", **options))
    before = get_available(variant)

    changes.delete_service(service, at=timezone.now(), inventory_action="transfer", **BY)

    primary = stock.get_primary_location()
    moved = FulfillmentOrder.objects.filter(assigned_location=primary).order_by("pk")
    matching_states = [(row.status, row.request_status, row.lines.get().fulfillable_quantity) for row in moved]
    assert matching_states == [("open", "unsubmitted", 2), ("open", "unsubmitted", 2), ("on_hold", "unsubmitted", 2)]
    assert {row.holds.count() for row in moved if row.status == "on_hold"} == {1}
    assert not Location.objects.get(pk=service.location_id).active
    assert get_available(variant) == before
    taken_froms = [item.taken_from for item in LineItem.objects.filter(fulfilled_quantity=0)]
    assert taken_froms == [{str(primary.pk): 2}] * 3
    assert find_wrong_quantities() == []
