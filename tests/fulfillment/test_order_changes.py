from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.customers.domain import personal_data
from apps.fulfillment.domain.fulfillment_orders import transitions
from apps.fulfillment.models import FulfillmentHold, FulfillmentOrder, MerchantRequest
from apps.inventory.domain import stock
from apps.orders.domain import edit_lines
from apps.orders.domain.edit_lines import LineEdit, OrderEdit
from apps.orders.models import LineItem, Order
from tests.support.api_client import ApiClient, Response
from tests.support.factories.fulfillment import (
    find_wrong_quantities,
    make_event,
    make_fulfillment,
    make_fulfillment_order,
    make_service,
)

ADDRESS = {"address1": "Storgatan 1", "city": "Lund", "country": "Sweden", "last_name": "Lovelace"}
# Status, request status, and whether a service has the items, by stage.
STAGES = {
    "open": ("open", "unsubmitted", False),
    "scheduled": ("scheduled", "unsubmitted", False),
    "held": ("on_hold", "unsubmitted", False),
    "requested": ("open", "submitted", True),
    "accepted": ("in_progress", "accepted", True),
}


def create_part(api: ApiClient, stage: str, **values: Any) -> FulfillmentOrder:
    """Create a fulfillment order for two mugs at the given stage. At ``half shipped``, one mug is fulfilled."""
    if stage == "half shipped":
        row = make_fulfillment_order(**values)
        line = row.lines.get()
        make_fulfillment(row, lines=[{"id": line.pk, "quantity": 1}])
        row.refresh_from_db()
        return row
    status, request, at_service = STAGES[stage]
    service = make_service(api.installation.app) if at_service else None
    return make_fulfillment_order(service, status=status, request_status=request, **values)


@pytest.mark.parametrize("money", [None, {"amount": "20.00", "currency": "USD"}], ids=["unpaid", "refunded"])
@pytest.mark.parametrize("stage", ["open", "scheduled", "held", "requested"])
def test_canceling_an_order_ends_unaccepted_work(
    stage: str, money: Attrs | None, api: ApiClient, in_shop: Shop
) -> None:
    paid = [{"kind": "sale", "amount": Decimal("20.00")}] if money else []
    row = create_part(api, stage, transactions=paid)

    response = api.post(f"orders/{row.order_id}/cancel.json", money)

    assert response.status_code == 200, response.content
    assert find_wrong_quantities() == []
    row.refresh_from_db()
    assert (row.status, row.lines.count()) == ("closed", 0)
    assert FulfillmentOrder.objects.count() == 1
    assert not FulfillmentHold.objects.exists()
    assert Event.objects.filter(topic="fulfillment_orders/cancelled", subject_id=row.pk).count() == 1
    assert api.post(f"fulfillment_orders/{row.pk}/fulfillment_request/accept.json").status_code in {403, 422}


@pytest.mark.parametrize("stage", ["accepted", "half shipped"])
def test_an_order_with_accepted_work_is_not_canceled(stage: str, api: ApiClient, in_shop: Shop) -> None:
    row = create_part(api, stage)

    response = api.post(f"orders/{row.order_id}/cancel.json")

    assert response.status_code == 422
    row.refresh_from_db()
    assert (row.status, row.order.cancelled_at) == ("in_progress", None)
    assert row.lines.get().fulfillable_quantity == (2 if stage == "accepted" else 1)


@pytest.mark.parametrize("stage", ["held", "requested", "half shipped"])
def test_an_edited_address_is_where_the_part_goes(stage: str, api: ApiClient, in_shop: Shop) -> None:
    row = create_part(api, stage, shipping_address=ADDRESS, email="ada@example.com")

    api.put(f"orders/{row.order_id}.json", {"order": {"shipping_address": {"city": "Umeå"}}})

    fulfillment_order = api.get(f"fulfillment_orders/{row.pk}.json").json()["fulfillment_order"]
    assert (fulfillment_order["destination"]["city"], fulfillment_order["status"]) == ("Umeå", row.status)


def refund_one(api: ApiClient, row: FulfillmentOrder, how: str) -> Response:
    where = {"restock_type": how, "location_id": stock.get_primary_location().pk}
    item = {"line_item_id": LineItem.objects.get().pk, "quantity": 1, **where}
    return api.post(f"orders/{row.order_id}/refunds.json", {"refund": {"refund_line_items": [item]}})


@pytest.mark.parametrize("stage", ["open", "scheduled", "held", "requested", "half shipped"])
def test_items_removed_from_the_order_leave_unaccepted_work(stage: str, api: ApiClient, in_shop: Shop) -> None:
    row = create_part(api, stage)

    for _ in range(LineItem.objects.get().fulfillable_quantity):
        response = refund_one(api, row, "cancel")
        assert response.status_code == 201, response.content
        assert find_wrong_quantities() == []

    row.refresh_from_db()
    assert row.status == "closed"
    assert sum(line.fulfillable_quantity for line in row.lines.all()) == 0
    assert refund_one(api, row, "cancel").status_code == 422


def test_units_that_a_service_has_taken_on_stay_with_it(api: ApiClient, in_shop: Shop) -> None:
    row = create_part(api, "accepted")

    response = refund_one(api, row, "cancel")

    assert response.status_code == 422
    assert "Request a cancellation first" in response.json()["errors"]["base"][0]
    assert row.lines.get().quantity == 2
    assert refund_one(api, row, "no_restock").status_code == 201
    assert row.lines.get().quantity == 2


def test_units_that_were_returned_are_not_sent_again(api: ApiClient, in_shop: Shop) -> None:
    row = create_part(api, "open")
    fulfillment = make_fulfillment(row)
    assert refund_one(api, row, "return").status_code == 201

    cancelled = api.post(f"fulfillments/{fulfillment.pk}/cancel.json")

    assert cancelled.status_code == 200, cancelled.content
    assert LineItem.objects.get().fulfillable_quantity == 1
    assert find_wrong_quantities() == []
    assert (refund_one(api, row, "cancel").status_code, refund_one(api, row, "cancel").status_code) == (201, 422)


def get_fulfillable(api: ApiClient, row: FulfillmentOrder) -> tuple[int, str | None]:
    """Return the fulfillable quantity of the only line item, and the order's fulfillment status."""
    order = api.get(f"orders/{row.order_id}.json").json()["order"]
    return order["line_items"][0]["fulfillable_quantity"], order["fulfillment_status"]


def test_a_returned_item_counts_as_an_item_of_the_other_fulfillment(api: ApiClient, in_shop: Shop) -> None:
    row = create_part(api, "open")
    one = [{"id": row.lines.get().pk, "quantity": 1}]
    first, second = make_fulfillment(row, lines=one), make_fulfillment(row, lines=one)
    assert refund_one(api, row, "return").status_code == 201

    assert api.post(f"fulfillments/{second.pk}/cancel.json").status_code == 200
    assert get_fulfillable(api, row) == (1, "partial")
    assert find_wrong_quantities() == []

    assert api.post(f"fulfillments/{first.pk}/cancel.json").status_code == 200
    assert get_fulfillable(api, row) == (1, None)
    assert find_wrong_quantities() == []


@pytest.mark.parametrize("is_fulfilled", [False, True])
def test_items_refunded_without_restocking_are_fulfilled_again(
    is_fulfilled: bool, api: ApiClient, in_shop: Shop
) -> None:
    row = create_part(api, "open")
    if is_fulfilled:
        fulfillment = make_fulfillment(row)
    assert refund_one(api, row, "no_restock").status_code == 201
    if not is_fulfilled:
        fulfillment = make_fulfillment(row)

    assert api.post(f"fulfillments/{fulfillment.pk}/cancel.json").status_code == 200

    assert get_fulfillable(api, row) == (2, None)
    assert find_wrong_quantities() == []


@pytest.mark.parametrize("kinds", [["no_restock", "return"], ["return", "no_restock"]])
def test_a_returned_item_is_not_fulfilled_again_although_another_was_removed(
    kinds: list[str], api: ApiClient, in_shop: Shop
) -> None:
    row = create_part(api, "open")
    edit_lines.edit_lines(
        row.order, OrderEdit({LineItem.objects.get().pk: LineEdit(1)}), actor="staff:1", at=timezone.now()
    )
    row.refresh_from_db()
    fulfillment = make_fulfillment(row)
    for kind in kinds:
        assert refund_one(api, row, kind).status_code == 201

    assert api.post(f"fulfillments/{fulfillment.pk}/cancel.json").status_code == 200

    assert get_fulfillable(api, row)[0] == 0
    assert find_wrong_quantities() == []


def test_an_item_that_was_fulfilled_again_can_be_returned(api: ApiClient, in_shop: Shop) -> None:
    row = create_part(api, "open")
    fulfillment = make_fulfillment(row)
    assert refund_one(api, row, "return").status_code == 201
    assert api.post(f"fulfillments/{fulfillment.pk}/cancel.json").status_code == 200
    make_fulfillment(FulfillmentOrder.objects.get(status="open"))

    assert refund_one(api, row, "return").status_code == 201

    assert refund_one(api, row, "return").status_code == 422
    assert get_fulfillable(api, row) == (0, "fulfilled")


@pytest.mark.parametrize("stage", ["held", "requested", "half shipped"])
def test_erasing_the_buyer_leaves_the_work_and_none_of_the_person(stage: str, api: ApiClient, in_shop: Shop) -> None:
    row = create_part(api, stage, customer={"email": "ada@example.com"}, shipping_address=ADDRESS)
    if stage == "requested":
        request: Attrs = {"kind": "fulfillment_request", "message": "Sylvia waits", "sent_at": timezone.now()}
        MerchantRequest.objects.create(shop=in_shop, fulfillment_order=row, **request)
    if stage == "held":
        FulfillmentHold.objects.update(reason_notes="Sylvia is away")
    if stage == "half shipped":
        fulfillment = row.order.fulfillments.get()
        fulfillment.tracking_numbers = ["1Z5R89390357567127"]
        fulfillment.save()
        make_event(fulfillment, city="Lund", message="Given to Sylvia")
    order = Order.objects.get(pk=row.order_id)
    assert order.customer is not None

    personal_data.redact_customer(order.customer, actor="staff:1", at=timezone.now())

    content = api.get(f"orders/{order.pk}/fulfillment_orders.json").content + api.get(f"orders/{order.pk}.json").content
    for word in (b"Sylvia", b"Lund", b"Lovelace", b"1Z5R8"):
        assert word not in content
    before = row.status
    row.refresh_from_db()
    assert row.status == before


def test_erasing_the_customer_clears_close_messages(api: ApiClient, in_shop: Shop) -> None:
    row = create_part(api, "accepted", customer={"email": "ada@example.com"})
    other = create_part(api, "accepted")
    for current_row in (row, other):
        transitions.close_fulfillment_order(current_row, message="Ada moved", actor="staff:1", at=timezone.now())
    assert row.order.customer is not None

    personal_data.redact_customer(row.order.customer, actor="staff:1", at=timezone.now())

    closed = Event.objects.filter(topic="fulfillment_orders/fulfillment_service_failed_to_complete")
    assert closed.get(subject_id=row.pk).changes == {}
    assert closed.get(subject_id=other.pk).changes["message"] == ["", "Ada moved"]


def test_a_closed_order_is_no_matter_to_its_parts(api: ApiClient, in_shop: Shop) -> None:
    row = create_part(api, "open")

    api.post(f"orders/{row.order_id}/close.json")

    fulfillment_order = api.get(f"fulfillment_orders/{row.pk}.json").json()["fulfillment_order"]
    assert "create_fulfillment" in fulfillment_order["supported_actions"]
