"""Refunds in the presentment currency: no discrepancies, nothing left over, and sums that equal their parts."""

from decimal import Decimal
from random import Random

import pytest

from apps.core.jobs import consistency_checks
from apps.orders.domain.statuses import get_status_page_context
from apps.orders.models import Order
from tests.support.api_client import ApiClient
from tests.support.refunds.random_orders import (
    RefundRun,
    create_random_order,
    refund_in_parts,
    remove_an_item,
)
from tests.support.timing import scale_for_soak
from tests.support.types import JsonObject

pytestmark = pytest.mark.usefixtures("in_shop")


def refund_random_orders(api: ApiClient, *, seed: int, refunds: int) -> RefundRun:
    run = RefundRun(api, Random(seed))
    while run.refunds < refunds:
        order = create_random_order(run)
        if order is not None:
            edited = run.random.random() < 0.2
            if edited:
                remove_an_item(order)
            refund_in_parts(order, edited=edited)
    return run


@pytest.mark.parametrize("seed", range(4))
def test_random_refunds_taken_as_suggested_leave_nothing(api: ApiClient, seed: int) -> None:
    run = refund_random_orders(api, seed=seed, refunds=75)

    assert (run.discrepancies, run.leftovers, run.differences) == (0, [], [])
    assert list(consistency_checks.find_differences({"order totals", "order payments", "order refunds"})) == []


@pytest.mark.soak
def test_ten_thousand_refunds_leave_nothing(api: ApiClient) -> None:
    run = refund_random_orders(api, seed=0, refunds=scale_for_soak(10_000))

    assert (run.discrepancies, run.leftovers, run.differences) == (0, [], [])


def create_order(api: ApiClient, amount: str, **line: object) -> JsonObject:
    body = {
        "currency": "JPY",
        "presentment_currency": "USD",
        "exchange_rate": "0.006694",
        "line_items": [{"title": "Mug", "price": 3556, "quantity": 4, **line}],
        "transactions": [{"kind": "sale", "amount": amount, "currency": "USD"}],
    }
    response = api.post("orders.json", {"order": body})
    assert response.status_code == 201, response.json()
    return response.json()["order"]


def test_one_unit_is_refunded_without_a_discrepancy(api: ApiClient) -> None:
    order = create_order(api, "95.22")
    units = {"currency": "USD", "refund_line_items": [{"line_item_id": order["line_items"][0]["id"], "quantity": 1}]}

    calculated = api.post(f"orders/{order['id']}/refunds/calculate.json", {"refund": units}).json()["refund"]
    body = {**units, "transactions": calculated["transactions"]}
    refund = api.post(f"orders/{order['id']}/refunds.json", {"refund": body}).json()["refund"]

    assert [row["amount"] for row in calculated["transactions"]] == ["23.81"]
    assert (calculated["refund_line_items"][0]["subtotal"], refund["order_adjustments"]) == ("23.81", [])
    after = api.get(f"orders/{order['id']}.json").json()["order"]
    assert (after["current_total_price"], after["total_outstanding"]) == ("10668", "0")
    assert after["current_total_price_set"]["presentment_money"]["amount"] == "71.41"


def test_an_amount_that_staff_withhold_is_a_discrepancy_in_both_currencies(api: ApiClient) -> None:
    order = create_order(api, "95.22")
    body = {
        "currency": "USD",
        "refund_line_items": [{"line_item_id": order["line_items"][0]["id"], "quantity": 4}],
        "transactions": [{"amount": "95.21"}],
    }

    refund = api.post(f"orders/{order['id']}/refunds.json", {"refund": body}).json()["refund"]

    (adjustment,) = refund["order_adjustments"]
    assert adjustment["amount_set"]["shop_money"]["amount"] == "1"
    assert adjustment["amount_set"]["presentment_money"]["amount"] == "0.01"
    assert adjustment["tax_amount_set"]["presentment_money"]["amount"] == "0.00"
    after = api.get(f"orders/{order['id']}.json").json()["order"]
    assert after["current_total_price_set"]["presentment_money"]["amount"] == "0.01"
    assert after["total_outstanding"] == "0"


def test_zero_has_no_sign(api: ApiClient) -> None:
    order = create_order(api, "95.22")
    shipping = api.post(
        f"orders/{order['id']}/refunds.json", {"refund": {"currency": "USD", "transactions": [{"amount": "0.01"}]}}
    ).json()["refund"]

    (adjustment,) = shipping["order_adjustments"]
    shown = [adjustment[name]["presentment_money"]["amount"] for name in ("amount_set", "tax_amount_set")]
    assert shown == ["-0.01", "0.00"]
    assert [adjustment[name] for name in ("amount", "tax_amount")] == ["-1", "0"]


def test_the_status_page_adds_up(api: ApiClient) -> None:
    created = create_order(api, "23.81", quantity=1, tax_lines=[{"title": "VAT", "rate": "0.19"}])
    page = get_status_page_context(Order.objects.get(pk=created["id"]))

    amounts = {label: Decimal(amount.removesuffix(" USD")) for label, amount in page["sums"]}
    assert amounts["Subtotal"] + amounts["Tax"] == amounts["Total"] == amounts["Paid"] + amounts["Balance due"]
    assert page["lines"][0]["amount"] == f"{amounts['Subtotal']} USD"
