"""Tests with the real client: refunds calculated, created and listed."""

from decimal import Decimal

import pytest
import shopify

from tests.client.conftest import Connect

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]


def create_paid_order() -> shopify.Order:
    order = shopify.Order.create(
        {
            "line_items": [{"title": "Mug", "price": "10.00", "quantity": 3}],
            "shipping_lines": [{"title": "Post", "price": "5.00"}],
            "transactions": [{"kind": "sale", "amount": "35.00", "status": "success"}],
        }
    )
    assert order.id, order.errors.full_messages()
    return order


def test_a_refund_is_calculated_made_and_listed(api_client_factory: Connect) -> None:
    api_client_factory()
    order = create_paid_order()
    units = [{"line_item_id": order.line_items[0].id, "quantity": 2, "restock_type": "no_restock"}]

    calculated = shopify.Refund.calculate(order_id=order.id, shipping={"full_refund": True}, refund_line_items=units)
    payments = [row.to_dict() for row in calculated.transactions]
    assert [(row["kind"], row["amount"], row["maximum_refundable"]) for row in payments] == [
        ("suggested_refund", "25.00", "35.00")
    ]
    refund = shopify.Refund(prefix_options={"order_id": order.id})
    refund.note = "Broken"
    refund.shipping = {"full_refund": True}
    refund.refund_line_items = units
    refund.transactions = [{**row, "kind": "refund"} for row in payments]
    assert refund.save(), refund.errors.full_messages()

    refunds = shopify.Refund.find(order_id=order.id)
    single = shopify.Refund.find(refund.id, order_id=order.id)
    after = shopify.Order.find(order.id)

    assert [row.id for row in refunds] == [refund.id]
    assert (single.note, single.transactions[0].amount, single.transactions[0].status) == ("Broken", "25.00", "success")
    assert [(row.quantity, Decimal(str(row.subtotal))) for row in single.refund_line_items] == [(2, Decimal(20))]
    assert (after.financial_status, after.total_outstanding, after.refunds[0].id) == (
        "partially_refunded",
        "0.00",
        refund.id,
    )


def test_too_much_is_refused_by_name(api_client_factory: Connect) -> None:
    api_client_factory()
    order = create_paid_order()

    refund = shopify.Refund(prefix_options={"order_id": order.id})
    refund.transactions = [{"kind": "refund", "amount": "35.01", "gateway": "manual"}]

    assert not refund.save()
    assert list(refund.errors.errors.values()) == [["must be less than or equal to 35.00"]], refund.errors.errors
