"""Refund transactions name their payment, and may name another gateway than the payment."""

from decimal import Decimal

import pytest

from apps.core.tenancy.models import Shop
from apps.orders.models import Order
from apps.refunds.domain import gateway_reconciliation
from tests.support.api_client import ApiClient
from tests.support.factories.orders import make_order
from tests.support.factories.refunds import run_refund_jobs
from tests.support.types import Json, JsonObject

pytestmark = pytest.mark.usefixtures("in_shop")


def create_paid_order(shop: Shop, gateway: str = "paypal", **values: object) -> Order:
    payment = {"kind": "sale", "amount": Decimal("20.00"), "gateway": gateway, "currency": "USD"}
    return make_order(shop, **{"transactions": [payment], **values})


def post_refund(api: ApiClient, order: Order, body: JsonObject, status: int = 201) -> JsonObject:
    response = api.post(f"orders/{order.pk}/refunds.json", {"refund": body})
    assert response.status_code == status, response.json()
    return response.json()["refund" if status == 201 else "errors"]


def get_transactions(refund: JsonObject) -> list[tuple[Json, ...]]:
    return [tuple(row[name] for name in ("gateway", "status", "amount", "currency")) for row in refund["transactions"]]


def test_suggestions_for_gateways_that_are_not_installed_are_taken(api: ApiClient, shop: Shop) -> None:
    order = create_paid_order(shop)
    units = {"refund_line_items": [{"line_item_id": order.line_items.get().pk, "quantity": 1}]}

    suggested = api.post(f"orders/{order.pk}/refunds/calculate.json", {"refund": units}).json()["refund"]
    refund = post_refund(api, order, {**units, "transactions": suggested["transactions"]})

    assert get_transactions(refund) == [("paypal", "success", "10.00", "USD")]
    assert list(gateway_reconciliation.find_gateway_differences()) == []


def test_an_order_paid_through_a_gateway_that_is_not_installed_is_canceled(api: ApiClient, shop: Shop) -> None:
    order = create_paid_order(shop)

    response = api.post(f"orders/{order.pk}/cancel.json", {"amount": "20.00", "currency": "USD"})

    assert response.status_code == 200, response.json()
    (refund,) = response.json()["order"]["refunds"]
    assert get_transactions(refund) == [("paypal", "success", "20.00", "USD")]


@pytest.mark.parametrize("gateway", ["gift_card", "manual", "paypal"])
def test_a_payment_is_refunded_through_another_gateway(api: ApiClient, shop: Shop, gateway: str) -> None:
    order = create_paid_order(shop)
    row = {"parent_id": order.transactions.get().pk, "amount": "5.00", "gateway": gateway}

    refund = post_refund(api, order, {"transactions": [row]})

    assert get_transactions(refund) == [(gateway, "success", "5.00", "USD")]
    assert refund["transactions"][0]["parent_id"] == row["parent_id"]


def test_a_gateway_gets_no_reference_of_another_gateway(api: ApiClient, shop: Shop) -> None:
    payment = {"kind": "sale", "amount": Decimal("20.00"), "gateway": "paypal", "authorization": "bogus:fail"}
    order = make_order(shop, transactions=[payment])

    row = {"parent_id": order.transactions.get().pk, "amount": "5.00", "gateway": "bogus"}
    refund = post_refund(api, order, {"transactions": [row]})
    run_refund_jobs(shop)

    after = api.get(f"orders/{order.pk}/refunds/{refund['id']}.json").json()["refund"]
    assert get_transactions(refund) == [("bogus", "pending", "5.00", "USD")]
    assert get_transactions(after) == [("bogus", "success", "5.00", "USD")]


def test_transactions_without_a_payment_refund_the_payments_of_their_gateway(api: ApiClient, shop: Shop) -> None:
    payments = [{"kind": "sale", "amount": Decimal(10), "gateway": name} for name in ("paypal", "klarna")]
    order = make_order(shop, transactions=payments)

    refund = post_refund(api, order, {"transactions": [{"amount": "5.00", "gateway": "klarna"}]})
    refused = post_refund(api, order, {"transactions": [{"amount": "5.01", "gateway": "klarna"}]}, 422)

    assert refund["transactions"][0]["parent_id"] == order.transactions.get(kind="sale", gateway="klarna").pk
    assert refused == {"transactions.0.amount": ["must be less than or equal to 5.00"]}


def test_the_currency_of_a_transaction_is_that_of_its_payment(api: ApiClient, shop: Shop) -> None:
    order = create_paid_order(shop, presentment_currency="EUR", exchange_rate=Decimal("0.9"))
    row: JsonObject = {
        "parent_id": order.transactions.get().pk,
        "amount": "5.00",
        "kind": "refund",
        "gateway": "paypal",
    }

    refund = post_refund(api, order, {"currency": "EUR", "transactions": [row]})
    explicit = post_refund(api, order, {"currency": "EUR", "transactions": [{**row, "currency": "EUR"}]}, 422)

    assert get_transactions(refund) == [("paypal", "success", "5.00", "USD")]
    assert explicit == {"transactions.0.currency": ["must be USD, the currency of the payment"]}


@pytest.mark.parametrize(
    "body",
    [
        {"transactions": [{"amount": "0"}]},
        {"transactions": [{"amount": "0.00"}, {"amount": 0}], "note": "Nothing"},
        {"shipping": {"full_refund": True}},
        {"shipping": {"amount": "0"}},
    ],
)
def test_refunds_of_nothing_are_refused(api: ApiClient, shop: Shop, body: JsonObject) -> None:
    order = create_paid_order(shop)

    refused = post_refund(api, order, body, 422)

    assert refused == {"base": ["must include an item, a duty, shipping or a payment to refund"]}
    assert not order.refunds.exists()
