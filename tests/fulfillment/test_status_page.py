from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.core.tenancy.models import Shop
from apps.fulfillment.domain import customer_tracking
from apps.fulfillment.domain.fulfillment_orders import transitions
from apps.fulfillment.domain.tracking import Tracking
from apps.fulfillment.models import Fulfillment, FulfillmentEvent, FulfillmentHold, FulfillmentOrder
from apps.orders.models import Order
from tests.support.api_client import ApiClient
from tests.support.factories.fulfillment import make_event, make_fulfillment, make_fulfillment_order, route_order_now
from tests.support.factories.orders import MUG, make_order

UPS = "1Z999AA10123456784"
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SCARF = {**MUG, "title": "Scarf", "quantity": 1}


def get_page_text(order: Order) -> str:
    response = Client().get(f"/orders/{order.shop_id}/{order.token}")
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def create_sent_fulfillment(order: Order, **values: Any) -> Fulfillment:
    (row,) = route_order_now(order)
    return make_fulfillment(row, **values)


def test_a_parcel_is_followed_from_its_sending_to_the_door(in_shop: Shop) -> None:
    order = make_order(lines=[MUG])
    url = f"https://www.ups.com/track?tracknum={UPS}"
    parcel = create_sent_fulfillment(order, tracking=Tracking((UPS,), (url,), "UPS"))
    where = {"city": "Boston", "country": "United States", "address1": "1 Secret Street", "zip": "MA 02110"}
    make_event(parcel, status="in_transit", happened_at=NOON, message="Signed by Sylvia", **where)
    tomorrow = {"happened_at": NOON + timedelta(days=1), "estimated_delivery_at": NOON.replace(day=4)}
    make_event(parcel, status="out_for_delivery", **tomorrow)

    page_text = get_page_text(order)

    link = f'href="{url}" target="_blank" rel="noopener noreferrer"'
    head = "<h3> Out for delivery </h3>"
    for part in (head, "Estimated delivery: Wednesday, 4 March", "2 × Mug", link, "Shipped with UPS <a"):
        assert part in page_text
    assert page_text.index("Out for delivery</span>") < page_text.index("In transit, Boston, United States</span>")
    assert "Not shipped yet" not in page_text
    for part in ("Sylvia", "Secret", "MA 02110"):
        assert part not in page_text


def test_every_event_has_words_and_an_end_has_no_expectation(in_shop: Shop) -> None:
    order = make_order(lines=[MUG])
    parcel = create_sent_fulfillment(order)

    for minute, status in enumerate(FulfillmentEvent.Status.values):
        make_event(parcel, status=status, happened_at=NOON + timedelta(minutes=minute), estimated_delivery_at=NOON)
        (shipment,) = customer_tracking.get_shipments(order)
        assert shipment.status == customer_tracking.EVENT_TEXTS[status]
        assert (shipment.expected is None) == (status in {"delivered", "picked_up", "failure"})
        assert shipment.status in get_page_text(order)


def test_unfulfilled_items_are_shown_with_the_reason(in_shop: Shop) -> None:
    order = make_order(lines=[MUG, SCARF])
    assert "Preparing for shipment" in get_page_text(order), "before a worker routes it"
    (row,) = route_order_now(order)
    mug = row.lines.order_by("pk")[0]
    make_fulfillment(row, lines=[{"id": mug.pk, "quantity": 1}])

    page_text = get_page_text(order)

    assert "Your shipment" in page_text
    assert "Not shipped yet" in page_text
    waiting = page_text[page_text.index("Not shipped yet") :]
    for part in ("Being packed", "1 × Mug", "1 × Scarf"):
        assert part in waiting


def test_each_hold_has_words_for_the_buyer_and_keeps_what_staff_noted(in_shop: Shop) -> None:
    assert set(customer_tracking.HOLD_TEXTS) == set(FulfillmentHold.Reason)
    row = make_fulfillment_order()
    for reason in FulfillmentHold.Reason.values:
        FulfillmentHold.objects.all().delete()
        transitions.hold_fulfillment_order(row, actor="system", at=NOON, reason=reason, notes="Ada is a cheat")

        page_text = get_page_text(row.order)

        assert customer_tracking.HOLD_TEXTS[reason] in page_text
        for part in ("cheat", "fraud"):
            assert part not in page_text


def test_a_scheduled_order_tells_its_day_in_the_shops_time(in_shop: Shop) -> None:
    in_shop.timezone = "Pacific/Auckland"
    in_shop.save()
    row = make_fulfillment_order(status="scheduled")
    FulfillmentOrder.objects.filter(pk=row.pk).update(fulfill_at=datetime(2027, 3, 2, 20, tzinfo=UTC))

    assert "Ships on 3 March 2027 at the earliest" in get_page_text(row.order)


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "//x", "https://[", "ftp://x.example/"])
def test_an_address_that_is_none_of_the_web_is_no_link(in_shop: Shop, url: str) -> None:
    order = make_order(lines=[MUG])
    create_sent_fulfillment(order, tracking=Tracking(("77",), (url,), "Bike <b>"))

    page_text = get_page_text(order)

    assert "Tracking number 77" in page_text
    assert "Bike &lt;b&gt;" in page_text
    assert url not in page_text


def test_parcels_that_were_taken_back_and_cancelled_orders_tell_nothing(in_shop: Shop, api: ApiClient) -> None:
    order = make_order(lines=[MUG])
    parcel = create_sent_fulfillment(order)
    assert api.post(f"fulfillments/{parcel.pk}/cancel.json", {}).status_code == 200
    assert "Your shipment" not in get_page_text(order)
    assert "Not shipped yet" in get_page_text(order)

    assert api.post(f"orders/{order.pk}/cancel.json", {}).status_code == 200

    assert "Not shipped yet" not in get_page_text(order)


def test_the_page_costs_the_same_queries_however_many_parcels(in_shop: Shop) -> None:
    def queries(parcels: int) -> int:
        order = make_order(lines=[{**MUG, "quantity": 6}])
        (row,) = route_order_now(order)
        (line,) = row.lines.all()
        for _ in range(parcels):
            make_event(make_fulfillment(row, lines=[{"id": line.pk, "quantity": 1}]))
        with CaptureQueriesContext(connection) as captured:
            get_page_text(order)
        return len(captured)

    assert queries(5) == queries(1) <= 14
