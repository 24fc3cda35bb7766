"""Tests that the prefilter of the nightly checks selects every inconsistent order and few consistent orders."""

from decimal import Decimal
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope
from apps.core.tenancy.shop_owned import ShopOwned
from apps.core.types import Attrs
from apps.orders.domain import consistency_checks, edit_lines, transitions
from apps.orders.domain.edit_lines import LineEdit, OrderEdit
from apps.orders.models import LineItem, Order, ShippingLine, Transaction
from apps.refunds.domain import create
from apps.refunds.domain.validation import RefundLineInput, RefundRequest, RefundTransactionInput
from tests.support.factories.orders import make_order

pytestmark = [pytest.mark.postgres, pytest.mark.usefixtures("in_shop")]

VAT: Attrs = {"tax_lines": [{"title": "VAT", "rate": Decimal("0.1"), "price": None}]}
DUTIES: Attrs = {"duties": [{"shop_money": {"amount": Decimal("5.00")}, **VAT}]}
LINES: list[Attrs] = [
    {"title": "A", "price": Decimal("33.33"), "quantity": 3, "total_discount": Decimal("1.00")},
    {"title": "B", "price": Decimal("10.00"), "quantity": 7, **VAT, **DUTIES},
]
POST: list[Attrs] = [{"title": "Post", "price": Decimal("9.00"), **VAT}]
CODES = [{"code": "LESS", "amount": Decimal("10.00"), "type": "fixed_amount"}]


def refund(order: Order, money: Decimal | None, **values: Any) -> None:
    paybacks = [] if money is None else [RefundTransactionInput(money)]
    request = RefundRequest(transaction_inputs=paybacks, **values)
    create.create_refund(order, request, actor="system", at=timezone.now())


def create_order_histories(shop: Shop) -> None:
    for included in (False, True):
        options: Attrs = {"lines": LINES, "shipping": POST, "codes": CODES, "taxes_included": included}
        for status in (None, "pending", "authorized", "paid", "voided"):
            order = make_order(shop, financial_status=status, **options)
            ids = list(order.line_items.order_by("pk").values_list("pk", flat=True))
            units = [RefundLineInput(ids[0]), RefundLineInput(ids[1], 2)]
            money = Decimal("5.00") if status == "paid" else None
            refund(order, money, line_inputs=units, shipping=Decimal("3.00"))
        for restock in (True, False):
            order = make_order(shop, total_tip_received=Decimal("2.00"), financial_status="paid", **options)
            transitions.cancel_order(order, restock=restock, actor="system", at=timezone.now())
        full_order = make_order(shop, financial_status="paid", fulfillment_status="fulfilled", **options)
        units = [RefundLineInput(pk, count) for pk, count in full_order.line_items.values_list("pk", "quantity")]
        refund(full_order, full_order.total_price, line_inputs=units, full_shipping=True)
        transitions.close_order(full_order, actor="system", at=timezone.now())
        edited = make_order(shop, financial_status="paid", **options)
        first, second = edited.line_items.order_by("pk").values_list("pk", flat=True)
        fewer = OrderEdit({first: LineEdit(2), second: LineEdit(3)}, ())
        edit_lines.edit_lines(edited, fewer, actor="system", at=timezone.now())
        refund(edited, Decimal("5.00"), line_inputs=[RefundLineInput(second, 5)])
    make_order(shop, currency="JPY", lines=[{"title": "A", "price": Decimal(100), "quantity": 3}])


def find_doubtful() -> tuple[list[int] | None, list[int] | None]:
    with all_shops_scope():
        end = Order.objects.latest("pk").pk
        totals = consistency_checks.find_total_candidates(0, end, ["USD", "JPY"])
        return totals, consistency_checks.find_payment_candidates(0, end)


def test_correct_orders_are_no_candidates(shop: Shop) -> None:
    create_order_histories(shop)

    assert find_doubtful() == ([], [])


@pytest.mark.parametrize(
    ("model", "column", "position"),
    [
        *((Order, column, 0) for column in ("total_price", "total_tax", "total_weight", "current_total_price")),
        (Order, "total_removed", 0),
        *((Order, column, 0) for column in ("current_total_discounts", "current_subtotal_price", "current_total_tax")),
        *((LineItem, column, 0) for column in ("price", "discount", "tax", "duty", "duty_tax")),
        *((Order, column, 0) for column in ("total_duties", "current_total_duties")),
        *((ShippingLine, column, 0) for column in ("price", "tax")),
        *((Order, column, 1) for column in ("total_paid",)),
        (Transaction, "shop_amount", 1),
    ],
)
def test_wrong_orders_are_candidates(shop: Shop, model: type[ShopOwned], column: str, position: int) -> None:
    make_order(shop, lines=LINES, shipping=POST, financial_status="paid")
    row = model.objects.earliest("pk")
    model.objects.filter(pk=row.pk).update(**{column: F(column) + 1})
    order = Order.objects.get()

    assert find_doubtful()[position] == [order.pk]


@pytest.mark.parametrize(
    ("column", "value"),
    [("financial_status", "pending"), ("fulfillment_status", "partial"), ("payment_gateway_names", [])],
)
def test_a_wrong_status_is_doubted(shop: Shop, column: str, value: object) -> None:
    order = make_order(shop, lines=LINES, financial_status="paid")
    Order.objects.update(**{column: value})

    assert find_doubtful()[1] == [order.pk]
