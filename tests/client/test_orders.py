from decimal import Decimal

import pytest
import shopify
from pyactiveresource.connection import ResourceNotFound

from tests.client.resources import change, create, save

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client"), pytest.mark.usefixtures("all_scopes")]

MUG = {"title": "Mug", "price": "10.00", "quantity": 2}
ORDER = {
    "line_items": [MUG],
    "email": "ada@example.com",
    "note": "Ring twice",
    "tags": "vip, gift",
    "currency": "USD",
    "shipping_lines": [{"title": "Post", "price": "5.00"}],
    "discount_codes": [{"code": "TEN", "amount": "1.00", "type": "fixed_amount"}],
    "customer": {"first_name": "Ada", "email": "ada@example.com"},
    "shipping_address": {"address1": "Storgatan 1", "city": "Lund", "country": "Sweden"},
    "note_attributes": [{"name": "wrap", "value": "paper"}],
}
PAID = {"transactions": [{"kind": "sale", "amount": "24.00", "status": "success"}]}
AUTHORIZED = {"transactions": [{"kind": "authorization", "amount": "24.00", "status": "success", "gateway": "cards"}]}


def create_order(**values: object) -> shopify.Order:
    return create(shopify.Order, **{**ORDER, **values})


def test_an_order_is_made_and_found() -> None:
    order = create_order(**PAID)
    found = shopify.Order.find(order.id)

    assert (found.name, found.total_price, found.financial_status, found.tags) == (
        "#1001",
        "24.00",
        "paid",
        "gift, vip",
    )
    assert [(line.title, line.quantity, line.price) for line in found.line_items] == [("Mug", 2, "10.00")]
    assert (found.shipping_address.country_code, found.customer.email) == ("SE", "ada@example.com")
    assert [(pair.name, pair.value) for pair in found.note_attributes] == [("wrap", "paper")]
    assert found.to_dict() == {name: value for name, value in order.to_dict().items() if name != "transactions"}


def test_a_found_order_is_changed_and_saved_whole() -> None:
    order = shopify.Order.find(create_order(**PAID).id)
    order.shipping_address.city = "Malmö"
    save(order)

    changed = change(order, note="Ring once", tags="gift", email="berg@example.com")

    assert (changed.note, changed.tags, changed.email) == ("Ring once", "gift", "berg@example.com")
    assert changed.shipping_address.city == "Malmö"
    assert (changed.total_price, changed.financial_status) == ("24.00", "paid")


def test_orders_are_listed_counted_and_narrowed() -> None:
    paid_order, pending = create_order(**PAID), create_order(customer={"email": "ben@example.com"})

    assert [order.id for order in shopify.Order.find(status="any")] == [pending.id, paid_order.id]
    assert (shopify.Order.count(), shopify.Order.count(financial_status="paid")) == (2, 1)
    assert [order.id for order in shopify.Order.find(financial_status="pending", fields="id,name")] == [pending.id]
    assert [order.name for order in shopify.Order.find(customer_id=paid_order.customer.id)] == ["#1001"]
    assert [order.name for order in shopify.Customer.find(pending.customer.id).orders()] == ["#1002"]


def test_an_order_is_closed_opened_cancelled_and_deleted() -> None:
    order = create_order()

    order.close()
    assert order.closed_at is not None
    assert shopify.Order.find() == []
    order.open()
    assert order.closed_at is None
    assert [row.id for row in shopify.Order.find(status="open")] == [order.id]
    order.cancel(reason="customer", email=False, restock=True)
    order.reload()
    assert order.cancel_reason == "customer"
    assert order.cancelled_at is not None
    assert shopify.Order.count(status="cancelled") == 1
    order.destroy()
    assert shopify.Order.count(status="any") == 0
    with pytest.raises(ResourceNotFound):
        shopify.Order.find(order.id)


def test_transactions_are_made_listed_and_found() -> None:
    order = create_order()

    sale = create(shopify.Transaction, order_id=order.id, kind="sale", amount="10.00", gateway="manual", currency="USD")
    transaction = shopify.Transaction.find(sale.id, order_id=order.id)
    order.reload()

    assert [(entry.kind, entry.amount, entry.status) for entry in order.transactions()] == [
        ("sale", "10.00", "success")
    ]
    assert (transaction.order_id, transaction.amount) == (order.id, "10.00")
    assert order.financial_status == "partially_paid"
    assert shopify.Transaction.count(order_id=order.id) == 1


@pytest.mark.parametrize(
    ("amounts", "captured", "status"), [((), "24.00", "paid"), (("9.50",), "9.50", "partially_paid")]
)
def test_authorizations_are_captured(amounts: tuple[str, ...], captured: str, status: str) -> None:
    order = create_order(**AUTHORIZED)

    capture = order.capture(*amounts)
    order.reload()

    assert capture.errors.full_messages() == []
    assert (capture.kind, Decimal(capture.amount), capture.gateway) == ("capture", Decimal(captured), "cards")
    assert order.financial_status == status


def test_an_authorization_is_voided() -> None:
    order = create_order(**AUTHORIZED)

    create(shopify.Transaction, order_id=order.id, kind="void", parent_id=order.transactions()[0].id)
    order.reload()

    assert order.financial_status == "voided"


def test_events_tell_what_happened_to_an_order_or_product() -> None:
    product = create(shopify.Product, title="Mug")
    order = create_order()
    order.close()

    events = order.events()

    assert [(event.subject_type, event.subject_id, event.verb) for event in events] == [
        ("Order", order.id, "create"),
        ("Order", order.id, "update"),
    ]
    assert [(event.subject_id, event.verb) for event in product.events()] == [(product.id, "create")]
    assert shopify.Event.find(events[0].id).verb == "create"
    assert [event.id for event in shopify.Event.find(filter="Order", verb="update")] == [events[1].id]
    assert shopify.Event.count() >= 2


def test_a_refund_is_calculated_made_and_listed() -> None:
    sale = {"kind": "sale", "amount": "35.00", "status": "success"}
    order = create_order(line_items=[{**MUG, "quantity": 3}], discount_codes=[], transactions=[sale])
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
    save(refund)

    single = shopify.Refund.find(refund.id, order_id=order.id)
    after = shopify.Order.find(order.id)

    assert [row.id for row in shopify.Refund.find(order_id=order.id)] == [refund.id]
    assert (single.note, single.transactions[0].amount, single.transactions[0].status) == ("Broken", "25.00", "success")
    assert [(row.quantity, Decimal(str(row.subtotal))) for row in single.refund_line_items] == [(2, Decimal(20))]
    assert (after.financial_status, after.total_outstanding) == ("partially_refunded", "0.00")
    assert after.refunds[0].id == refund.id
