from decimal import Decimal

import pytest

from apps.draft_orders.domain.draft_orders import DraftOrderCompleted
from tests.support.factories.draft_orders import complete, make_draft_order

pytestmark = pytest.mark.usefixtures("in_shop")


def test_a_completed_draft_order_has_a_paid_order_with_its_amounts() -> None:
    lines = [
        {"title": "Mug", "price": Decimal("10.00"), "quantity": 3, "applied_discount": {"value": "1.50"}},
        {"title": "Cup", "price": Decimal("3.33")},
    ]
    discount = {"value": "10", "value_type": "percentage", "title": "Regular"}
    shipping = {"title": "Post", "price": Decimal("5.00")}
    draft = make_draft_order(lines, applied_discount=discount, shipping_line=shipping, note="Gift", tags="a, b")

    order = complete(draft).order

    assert order is not None
    # 10% of 28.83, which is 33.33 minus 3 times 1.50, rounds to 2.88.
    assert (draft.total_discounts, draft.subtotal_price, draft.total_price) == tuple(
        map(Decimal, ("7.38", "25.95", "30.95"))
    )
    assert (order.total_discounts, order.subtotal_price, order.total_price) == tuple(
        map(Decimal, ("7.38", "25.95", "30.95"))
    )
    assert (order.financial_status, order.total_paid, order.source_name) == ("paid", Decimal("30.95"), "draft_order")
    assert (order.note, order.tags) == ("Gift", "a, b")
    assert [row["amount"] for line in order.line_items.all() for row in line.discount_allocations] == [
        "4.5",
        "2.55",
        "0.33",
    ]


def test_a_completed_draft_order_cannot_be_completed_again() -> None:
    draft = complete(make_draft_order(), payment_pending=True)

    assert draft.order is not None
    assert draft.order.financial_status == "pending"
    with pytest.raises(DraftOrderCompleted):
        complete(draft)
