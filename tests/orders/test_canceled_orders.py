"""Canceled orders: customers owe nothing for them, and orders without payments are voided."""

from decimal import Decimal

import pytest

from apps.core.jobs import consistency_checks
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.imports_exports.resources.exported_orders.reading import read_orders
from apps.imports_exports.resources.order_table import convert_order_to_rows
from tests.support.api_client import ApiClient
from tests.support.factories.orders import make_order
from tests.support.types import JsonObject

pytestmark = pytest.mark.usefixtures("in_shop")

SALE: Attrs = {"kind": "sale", "gateway": "manual"}


@pytest.mark.parametrize("restock", [True, False])
@pytest.mark.parametrize(
    ("payments", "status", "outstanding", "paid"),
    [
        ([], "voided", "0.00", "0.00"),
        ([{**SALE, "amount": Decimal(5), "status": "failure"}], "voided", "0.00", "0.00"),
        ([{"kind": "authorization", "amount": Decimal(20)}], "voided", "0.00", "0.00"),
        ([{**SALE, "amount": Decimal(5)}], "partially_paid", "0.00", "5.00"),
        ([{**SALE, "amount": Decimal(20)}], "paid", "0.00", "20.00"),
    ],
)
def test_customers_owe_nothing_for_canceled_orders(
    *, api: ApiClient, shop: Shop, payments: list[Attrs], status: str, outstanding: str, paid: str, restock: bool
) -> None:
    order = make_order(shop, transactions=payments)

    response = api.post(f"orders/{order.pk}/cancel.json", {"restock": restock})

    canceled: JsonObject = response.json()["order"]
    if restock:
        # The items were removed, so the shop owes the customer the payments.
        outstanding = "0.00" if paid == "0.00" else f"-{paid}"
    assert (canceled["financial_status"], canceled["total_outstanding"]) == (status, outstanding)
    (exported,) = read_orders([order.pk])
    assert next(iter(convert_order_to_rows(exported)))["paid"] == paid
    assert list(consistency_checks.find_differences({"order payments", "order totals"})) == []


def test_a_partial_payment_in_another_currency_is_exported(api: ApiClient, shop: Shop) -> None:
    sale = {**SALE, "amount": Decimal("4.50"), "currency": "EUR"}
    order = make_order(shop, presentment_currency="EUR", exchange_rate=Decimal("0.9"), transactions=[sale])

    api.post(f"orders/{order.pk}/cancel.json", {"restock": False})

    (exported,) = read_orders([order.pk])
    assert next(iter(convert_order_to_rows(exported)))["paid"] == "5.00"
