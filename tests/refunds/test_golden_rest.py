from collections.abc import Iterable
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.core.money import format_decimal
from apps.core.types import Attrs
from tests.support.api_client import ApiClient
from tests.support.factories.refunds import is_money_consistent
from tests.support.refunds.golden import GoldenCase, RefundStep, load_cases
from tests.support.types import JsonObject

ZERO = Decimal(0)
CENTS = st.integers(0, 3000).map(lambda count: Decimal(count) / 100)


def build_taxes(amount: Decimal) -> list[Attrs]:
    return [{"title": "VAT", "rate": "0", "price": str(amount)}] if amount else []


def build_order_body(case: GoldenCase) -> JsonObject:
    presentment = {"presentment_currency": case.seen[0], "exchange_rate": str(case.seen[1])} if case.seen else {}
    payments = [
        {"kind": "sale", "currency": currency, **({} if amount is None else {"amount": str(amount)})}
        for amount, currency in case.payments
    ]
    return {
        "currency": case.currency,
        "taxes_included": case.included,
        "line_items": [
            {
                "title": line["letter"],
                "quantity": line["quantity"],
                "price": str(line["price"]),
                "total_discount": str(line["off"]),
                "tax_lines": build_taxes(line["tax"]),
                "duties": [{"shop_money": {"amount": str(line["duty"])}, "tax_lines": build_taxes(line["taxed"])}]
                if line["duty"]
                else [],
            }
            for line in case.lines
        ],
        "discount_codes": [{"code": "LESS", "amount": str(case.code), "type": "fixed_amount"}] if case.code else [],
        "shipping_lines": [
            {"title": "Post", "price": str(row["price"]), "tax_lines": build_taxes(row["tax"])} for row in case.posts
        ],
        "transactions": payments,
        **presentment,
    }


def build_refund_body(order: JsonObject, step: RefundStep, currency: str) -> JsonObject:
    ids = {line["title"]: line["id"] for line in order["line_items"]}
    units = [{"line_item_id": ids[letter], "quantity": count} for letter, count in step.units]
    shipping = {"shipping": {"amount": str(step.post)}} if step.post else {}
    duty = {line["title"]: line["duties"][0]["id"] for line in order["line_items"] if line["duties"]}
    duties = [{"duty_id": duty[letter], "refund_type": "FULL"} for letter in step.whole]
    duties += [{"duty_id": duty[letter], "refund_type": "PROPORTIONAL"} for letter in step.share]
    return {"currency": currency, "refund_line_items": units, "refund_duties": duties, **shipping}


def post_calculation(api: ApiClient, order: JsonObject, body: JsonObject) -> JsonObject:
    response = api.post(f"orders/{order['id']}/refunds/calculate.json", {"refund": body})
    assert response.status_code == 200, response.json()
    return response.json()["refund"]


def post_refund(api: ApiClient, order: JsonObject, body: JsonObject) -> JsonObject:
    suggested = post_calculation(api, order, body)["transactions"]
    response = api.post(f"orders/{order['id']}/refunds.json", {"refund": {**body, "transactions": suggested}})
    assert response.status_code == 201, response.json()
    return response.json()["refund"]


def get_refunded_duties(refund: JsonObject) -> tuple[Decimal, ...]:
    names = ("amount_set", "tax_amount_set")
    return tuple(add_up(row[name]["shop_money"]["amount"] for row in refund["duties"]) for name in names)


def add_up(amounts: Iterable[str]) -> Decimal:
    return sum(map(Decimal, amounts), ZERO)


@pytest.mark.parametrize("case", load_cases(), ids=str)
def test_a_golden_case_comes_to_the_same_through_rest(api: ApiClient, case: GoldenCase) -> None:
    response = api.post("orders.json", {"order": build_order_body(case)})
    assert response.status_code == 201, response.json()
    order = response.json()["order"]
    *before, last = (build_refund_body(order, step, case.currency) for step in case.steps)
    for body in before:
        post_refund(api, order, body)

    calculation = post_calculation(api, order, last)
    refund = post_refund(api, order, last)

    lines = calculation["refund_line_items"]
    assert (
        add_up(row["subtotal"] for row in lines),
        add_up(row["total_tax"] for row in lines),
        Decimal(calculation["shipping"]["amount"]),
    ) == case.expected
    assert get_refunded_duties(calculation) == get_refunded_duties(refund) == case.duties
    assert Decimal(refund["total_duties_set"]["shop_money"]["amount"]) == case.duties[0]
    back = [Decimal(row["amount"]) for row in calculation["transactions"]]
    # The response may omit fully refunded payments.
    assert back == [amount for amount in case.back if amount or len(back) == len(case.back)]
    assert [Decimal(row["amount"]) for row in refund["transactions"]] == [amount for amount in case.back if amount]
    stored = {row["subtotal_set"]["shop_money"]["amount"] for row in refund["refund_line_items"]}
    assert stored == {row["subtotal"] for row in lines}
    assert {row["status"] for row in refund["transactions"]} <= {"success"}
    after = api.get(f"orders/{order['id']}.json").json()["order"]
    if case.payments and all(amount is None for amount, _ in case.payments):
        assert after["total_outstanding"] == format_decimal(ZERO, case.currency)
    assert is_money_consistent()


def post_paid_order(api: ApiClient, data: st.DataObject, quantity: int, **more: object) -> JsonObject:
    price, tax, post = (str(data.draw(CENTS)) for _ in range(3))
    line = {"title": "A", "quantity": quantity, "price": price, "tax_lines": build_taxes(Decimal(tax)), **more}
    shipping = [{"title": "Post", "price": post}]
    body = {"line_items": [line], "shipping_lines": shipping, "currency": "USD", "financial_status": "paid"}
    return api.post("orders.json", {"order": body}).json()["order"]


@settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_splits_add_up_through_rest(api: ApiClient, data: st.DataObject) -> None:
    remaining_quantity = data.draw(st.integers(2, 6))
    order = post_paid_order(api, data, remaining_quantity)
    given_back = ZERO
    while remaining_quantity:
        count = data.draw(st.integers(1, remaining_quantity))
        remaining_quantity -= count
        step = RefundStep((("A", count),), ZERO)
        last = {} if remaining_quantity else {"shipping": {"full_refund": True}}
        refund = post_refund(api, order, {**build_refund_body(order, step, "USD"), **last})
        given_back += add_up(row["amount"] for row in refund["transactions"])

    after = api.get(f"orders/{order['id']}.json").json()["order"]
    assert given_back == Decimal(order["total_price"])
    assert (after["current_total_price"], after["total_outstanding"]) == ("0.00", "0.00")
