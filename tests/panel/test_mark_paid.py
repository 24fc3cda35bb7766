"""Tests for marking selected orders as paid from the order list."""

from decimal import Decimal
from typing import Any

import pytest
from django.db import OperationalError

from apps.core.tenancy.models import Shop
from apps.orders.domain import payments
from apps.orders.models import Order, Transaction
from tests.support.api_client import Response
from tests.support.factories.orders import make_order
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.pages import get_messages

pytestmark = pytest.mark.usefixtures("in_shop")

LIST, PAGE = "orders_order_changelist", "orders_order_paid_many"


@pytest.fixture
def order_client(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("orders", "edit_orders")


def open_page(panel: Panel, *orders: Order) -> Response:
    """Run the action for the orders, and return the page that the action opens."""
    selected = {"action": "mark_paid", "_selected_action": [order.pk for order in orders]}
    response = panel.http.post(f"{panel.url(LIST)}?view=all", selected)
    return panel.http.get(response.headers["Location"])


def confirm(panel: Panel, *orders: Order) -> str:
    """Submit the form and return the message."""
    ids = ",".join(str(order.pk) for order in orders)
    return get_messages(panel.http.post(f"{panel.url(PAGE)}?ids={ids}", follow=True))


def get_payments(order: Order) -> list[tuple[str, str, Decimal]]:
    rows = Transaction.objects.filter(order=order).order_by("pk")
    return [(row.kind, row.gateway, row.amount) for row in rows]


@pytest.fixture
def skipped(shop: Shop) -> list[Order]:
    """Return a paid, an authorized, a pending and a canceled order."""
    pending = {"kind": "sale", "status": "pending", "gateway": "bank", "amount": Decimal("20.00")}
    orders = [
        make_order(shop, financial_status="paid"),
        make_order(shop, financial_status="authorized"),
        make_order(shop, transactions=[pending]),
        make_order(shop),
    ]
    Order.objects.filter(pk=orders[3].pk).update(status="cancelled", cancelled_at=orders[3].created_at)
    return orders


REASONS = [
    "Nothing is owed.",
    "The payment is authorized. Capture the payment on the order page.",
    "A payment is pending.",
    "The order is canceled.",
]


def test_the_page_lists_amounts_and_the_reasons_of_skipped_orders(
    order_client: Panel, shop: Shop, skipped: list[Order]
) -> None:
    order = make_order(shop)

    page = open_page(order_client, order, *skipped)

    selection, text = page.context["selection"], " ".join(page.content.decode().split())
    assert "2 items <span" in text
    assert "2 × Mug</span>" in text
    assert [(row.pk, amount) for row, amount in selection.rows] == [(order.pk, f"{order.total_price} USD")]
    assert [reason for _order, reason in selection.skipped] == REASONS
    assert "Mark 1 order as paid" in text


def test_orders_are_paid_and_one_message_counts_the_skipped_ones(
    order_client: Panel, shop: Shop, skipped: list[Order]
) -> None:
    orders = [make_order(shop) for _ in range(2)]
    before = [get_payments(order) for order in skipped]

    message = confirm(order_client, *orders, *skipped)

    parts = [f"1 order was skipped ({order}). {reason}" for order, reason in zip(skipped, REASONS, strict=True)]
    assert message == " ".join(["2 orders were marked as paid.", *parts])
    assert [get_payments(order) for order in orders] == [[("sale", "manual", orders[0].total_price)]] * 2
    assert [get_payments(order) for order in skipped] == before
    assert set(Order.objects.filter(pk__in=[order.pk for order in orders]).values_list("financial_status")) == {
        ("paid",)
    }


def test_a_second_submission_pays_nothing(order_client: Panel, shop: Shop) -> None:
    order = make_order(shop)

    confirm(order_client, order)
    message = confirm(order_client, order)

    assert message == f"0 orders were marked as paid. 1 order was skipped ({order}). Nothing is owed."
    assert len(get_payments(order)) == 1


def test_a_busy_database_only_leaves_out_one_order(
    order_client: Panel, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = [make_order(shop) for _ in range(3)]
    create = payments.create_transaction

    def create_or_time_out(order: Order, attrs: Any, **values: Any) -> Transaction:
        if order.pk == orders[1].pk:
            raise OperationalError("canceling statement due to lock timeout")
        return create(order, attrs, **values)

    monkeypatch.setattr(payments, "create_transaction", create_or_time_out)
    message = confirm(order_client, *orders)

    assert message.startswith(f"2 orders were marked as paid. 1 order was skipped ({orders[1]}). The database")
    assert [len(get_payments(order)) for order in orders] == [1, 0, 1]


def test_staff_without_the_permission_cannot_mark_orders_as_paid(admin_client_with: PanelWith, shop: Shop) -> None:
    order, clerk = make_order(shop), admin_client_with("orders")

    clerk.forge(LIST, action="mark_paid", _selected_action=[order.pk])

    assert clerk.http.post(f"{clerk.url(PAGE)}?ids={order.pk}").status_code == 403
    assert "mark_paid" not in clerk.get(LIST).content.decode()
    assert get_payments(order) == []
