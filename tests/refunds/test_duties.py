from decimal import Decimal

import pytest

from apps.core.types import Attrs
from apps.refunds.models import RefundDuty
from tests.support.api_client import ApiClient
from tests.support.factories.refunds import is_money_consistent
from tests.support.types import JsonObject

pytestmark = pytest.mark.usefixtures("in_shop")

LINE: Attrs = {
    "title": "Mug",
    "price": "10.00",
    "quantity": 3,
    "duties": [{"shop_money": {"amount": "10.00"}, "tax_lines": [{"title": "VAT", "rate": 0.2}]}],
}


def create_paid_order(api: ApiClient) -> tuple[JsonObject, int, int]:
    """Create a paid order of 43.00; return the order, the id of the line item with a duty, and the duty's id."""
    lines = [LINE, {"title": "Card", "price": "1.00", "quantity": 1}]
    body = {"currency": "USD", "line_items": lines, "financial_status": "paid"}
    order = api.post("orders.json", {"order": body}).json()["order"]
    assert order["total_price"] == "43.00"
    return order, order["line_items"][0]["id"], order["line_items"][0]["duties"][0]["id"]


def post_refund(api: ApiClient, order: JsonObject, status: int = 201, **body: object) -> JsonObject:
    response = api.post(f"orders/{order['id']}/refunds.json", {"refund": {"currency": "USD", **body}})
    assert response.status_code == status, response.json()
    return response.json()["refund" if status == 201 else "errors"]


def get_order(api: ApiClient, order: JsonObject) -> JsonObject:
    return api.get(f"orders/{order['id']}.json").json()["order"]


def test_refunds_return_a_share_and_then_the_rest_of_a_duty(api: ApiClient) -> None:
    order, line, duty = create_paid_order(api)
    share: JsonObject = {
        "refund_line_items": [{"line_item_id": line, "quantity": 1}],
        "refund_duties": [{"duty_id": duty, "refund_type": "PROPORTIONAL"}],
    }
    rest: JsonObject = {"refund_duties": [{"duty_id": duty, "refund_type": "FULL"}]}

    first = post_refund(api, order, **share, transactions=[{"amount": "14.00"}])
    between = get_order(api, order)
    last = post_refund(api, order, **rest, transactions=[{"amount": "8.00"}])
    after = get_order(api, order)

    [refunded] = first["duties"]
    assert (refunded["duty_id"], refunded["amount_set"]["shop_money"]["amount"]) == (duty, "3.33")
    assert refunded["tax_amount_set"]["presentment_money"] == {"amount": "0.67", "currency_code": "USD"}
    assert first["total_duties_set"]["shop_money"] == {"amount": "3.33", "currency_code": "USD"}
    assert (first["order_adjustments"], last["order_adjustments"]) == ([], [])
    remaining = [order["current_total_duties_set"]["shop_money"]["amount"] for order in (between, after)]
    assert remaining == ["6.67", "0.00"]
    assert between["original_total_duties_set"]["shop_money"]["amount"] == "10.00"
    assert (between["current_total_tax"], between["current_total_price"]) == ("1.33", "29.00")
    assert (after["current_total_price"], after["total_outstanding"]) == ("21.00", "0.00")
    assert [row["total_duties_set"]["shop_money"]["amount"] for row in after["refunds"]] == ["3.33", "6.67"]
    assert is_money_consistent()


def test_the_retained_part_of_a_duty_is_a_discrepancy(api: ApiClient) -> None:
    order, _, duty = create_paid_order(api)

    duties = [{"duty_id": duty, "refund_type": "FULL"}]
    refund_data = post_refund(api, order, refund_duties=duties, transactions=[{"amount": "2"}])

    [order_adjustment] = refund_data["order_adjustments"]
    assert (order_adjustment["kind"], order_adjustment["amount"]) == ("refund_discrepancy", "10.00")
    assert get_order(api, order)["total_outstanding"] == "0.00"
    assert is_money_consistent()


def test_a_cancellation_gives_back_duties_too(api: ApiClient) -> None:
    order, _, duty = create_paid_order(api)

    response = api.post(f"orders/{order['id']}/cancel.json", {"amount": "43.00", "currency": "USD"})

    cancelled = response.json()["order"]
    assert (cancelled["current_total_price"], cancelled["total_outstanding"]) == ("0.00", "0.00")
    [new_refund] = cancelled["refunds"]
    [row] = new_refund["duties"]
    assert (row["duty_id"], row["amount_set"]["shop_money"]["amount"]) == (duty, "10.00")
    assert new_refund["order_adjustments"] == []
    assert is_money_consistent()


def test_duties_that_cannot_go_back_change_nothing(api: ApiClient) -> None:
    order, line, duty = create_paid_order(api)
    card = order["line_items"][1]["id"]
    full_duty, share = ({"duty_id": duty, "refund_type": word} for word in ("FULL", "PROPORTIONAL"))
    before = get_order(api, order)
    units = [{"line_item_id": card, "quantity": 1}]

    for body, errors in (
        ([share], {"refund_duties.0.refund_type": ["requires refund line items of the duty's line item"]}),
        ([full_duty, full_duty], {"refund_duties.1.duty_id": ["is listed twice"]}),
        ([{**full_duty, "duty_id": line}], {"refund_duties.0.duty_id": ["is not a duty on this order"]}),
    ):
        assert post_refund(api, order, 422, refund_duties=body, refund_line_items=units) == errors
    assert get_order(api, order) == before
    assert not RefundDuty.objects.exists()

    post_refund(api, order, refund_duties=[full_duty], transactions=[{"amount": "12.00"}])
    errors = post_refund(api, order, 422, refund_duties=[full_duty])
    assert errors == {"refund_duties.0.duty_id": ["has already been refunded in full"]}


@pytest.mark.parametrize("status", ["paid", "pending"])
def test_the_created_refund_equals_the_calculation(api: ApiClient, status: str) -> None:
    body = {"currency": "USD", "line_items": [LINE], "financial_status": status}
    presentment = {"presentment_currency": "JPY", "exchange_rate": "151.27"}
    order = api.post("orders.json", {"order": {**body, **presentment}}).json()["order"]
    line = order["line_items"][0]
    expected = {
        "currency": "JPY",
        "refund_line_items": [{"line_item_id": line["id"], "quantity": 2}],
        "refund_duties": [{"duty_id": line["duties"][0]["id"], "refund_type": "PROPORTIONAL"}],
    }

    response = api.post(f"orders/{order['id']}/refunds/calculate.json", {"refund": expected})

    matching_refund = response.json()["refund"]
    refund_data = post_refund(api, order, **{**expected, "transactions": matching_refund["transactions"]})
    assert refund_data["total_duties_set"] == matching_refund["total_duties_set"]
    assert matching_refund["total_duties_set"]["presentment_money"] == {"amount": "1009", "currency_code": "JPY"}
    stored, calculated = ([{**row, "id": None} for row in part["duties"]] for part in (refund_data, matching_refund))
    assert stored == calculated
    assert sum(Decimal(row["amount"]) for row in matching_refund["transactions"]) == (28 if status == "paid" else 0)
    assert is_money_consistent()
