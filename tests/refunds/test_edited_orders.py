"""Refunds after an edit: removed items and refunded items are not mixed up."""

from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from apps.core.jobs import consistency_checks
from apps.core.tenancy.models import Shop
from apps.inventory.models import Location
from apps.orders.domain import edit_lines
from apps.orders.domain.edit_lines import LineEdit, OrderEdit
from apps.orders.models import Order
from tests.support.api_client import ApiClient
from tests.support.factories.orders import make_order
from tests.support.types import JsonObject

pytestmark = pytest.mark.usefixtures("in_shop")

VAT = [{"title": "VAT", "rate": Decimal("0.19"), "price": None}]


def create_edited_order(shop: Shop, *, sent: int = 0, **values: Any) -> Order:
    """Create a paid order of three mugs, and remove one of them."""
    line = {"title": "Mug", "price": Decimal(10), "quantity": 3, **values}
    order = make_order(shop, lines=[line], financial_status="paid", taxes_included=True)
    changes = {order.line_items.get().pk: LineEdit(2)}
    edit_lines.edit_lines(order, OrderEdit(changes), actor="staff:1", at=timezone.now())
    order.line_items.update(fulfilled_quantity=sent, fulfillable_quantity=2 - sent)
    order.refresh_from_db()
    return order


def refund_suggested(api: ApiClient, order: Order, units: JsonObject) -> str:
    """Refund items with the suggested amount, and return this amount."""
    location = Location.objects.filter(active=True).first()
    where = {"location_id": location.pk if location else None} if units.get("restock_type") != "no_restock" else {}
    body = {"refund_line_items": [{"line_item_id": order.line_items.get().pk, **where, **units}]}
    suggested = api.post(f"orders/{order.pk}/refunds/calculate.json", {"refund": body}).json()["refund"]["transactions"]
    response = api.post(f"orders/{order.pk}/refunds.json", {"refund": {**body, "transactions": suggested}})
    assert response.status_code == 201, response.json()
    kinds = [row["kind"] for row in response.json()["refund"]["order_adjustments"]]
    assert kinds == []
    return suggested[0]["amount"] if suggested else "0.00"


def refund_money(api: ApiClient, order: Order, amount: str) -> None:
    response = api.post(f"orders/{order.pk}/refunds.json", {"refund": {"transactions": [{"amount": amount}]}})
    assert response.status_code == 201, response.json()


def get_state(api: ApiClient, order: Order) -> tuple[object, ...]:
    body = api.get(f"orders/{order.pk}.json").json()["order"]
    assert list(consistency_checks.find_differences({"order totals", "order payments", "order refunds"})) == []
    (line,) = body["line_items"]
    return line["current_quantity"], body["current_total_price"], body["total_outstanding"]


@pytest.mark.parametrize("money_back", [True, False])
@pytest.mark.parametrize(
    ("kind", "sent"), [("return", 2), ("no_restock", 2), ("cancel", 0), ("no_restock", 0)], ids=str
)
def test_refunds_take_the_items_that_are_left(
    *, api: ApiClient, shop: Shop, kind: str, sent: int, money_back: bool
) -> None:
    order = create_edited_order(shop, sent=sent)
    if money_back:
        refund_money(api, order, "10.00")

    amount = refund_suggested(api, order, {"quantity": 1, "restock_type": kind})

    assert amount == "10.00"
    assert get_state(api, order) == (1, "10.00", "0.00" if money_back else "-10.00")
    last = refund_suggested(api, order, {"quantity": 2, "restock_type": "no_restock"})
    assert (last, get_state(api, order)) == ("10.00" if money_back else "20.00", (0, "0.00", "0.00"))


@pytest.mark.parametrize("total_discount", ["0.01", "0.02", "10.00", "20.00"])
def test_amounts_that_do_not_divide_leave_nothing(api: ApiClient, shop: Shop, total_discount: str) -> None:
    """The price of a removed item is refunded as money, so the current items are worth the rest of the payments."""
    order = create_edited_order(shop, total_discount=Decimal(total_discount), tax_lines=VAT)
    refund_money(api, order, str(-order.outstanding.quantize(Decimal("0.01"))))

    for quantity in (1, 0):
        refund_suggested(api, order, {"quantity": 1, "restock_type": "no_restock"})
        state = get_state(api, order)
        assert (state[0], state[2]) == (quantity, "0.00")

    assert Order.objects.get(pk=order.pk).financial_status == "refunded"
