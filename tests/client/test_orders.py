"""Tests that the public client can create, change, pay, cancel and refund orders."""

from decimal import Decimal

import pytest
import shopify
from pyactiveresource.connection import ResourceNotFound

from tests.support.servers.live import Connect

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]

ORDER = {
    "line_items": [{"title": "Mug", "price": "10.00", "quantity": 2}],
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
    order = shopify.Order.create({**ORDER, **values})
    assert order.id, order.errors.full_messages()
    return order


def test_an_order_is_made_and_found(api_client_factory: Connect) -> None:
    api_client_factory()

    order = create_order(**PAID)
    matching_order = shopify.Order.find(order.id)

    assert (matching_order.name, matching_order.total_price, matching_order.financial_status, matching_order.tags) == (
        "#1001",
        "24.00",
        "paid",
        "gift, vip",
    )
    assert [(line.title, line.quantity, line.price) for line in matching_order.line_items] == [("Mug", 2, "10.00")]
    assert matching_order.shipping_address.country_code == "SE"
    assert [(pair.name, pair.value) for pair in matching_order.note_attributes] == [("wrap", "paper")]
    assert matching_order.customer.email == "ada@example.com"
    assert matching_order.to_dict() == {
        name: value for name, value in order.to_dict().items() if name != "transactions"
    }


def test_a_found_order_is_changed_and_saved_whole(api_client_factory: Connect) -> None:
    api_client_factory()
    order = create_order(**PAID)

    matching_order = shopify.Order.find(order.id)
    matching_order.note = "Ring once"
    matching_order.tags = "gift"
    matching_order.email = "berg@example.com"
    matching_order.shipping_address.city = "Malmö"
    saved = matching_order.save()
    second_order = shopify.Order.find(order.id)

    assert saved, matching_order.errors.full_messages()
    assert (second_order.note, second_order.tags, second_order.email) == ("Ring once", "gift", "berg@example.com")
    assert second_order.shipping_address.city == "Malmö"
    assert (second_order.total_price, second_order.financial_status) == ("24.00", "paid")


def test_orders_are_listed_counted_and_narrowed(api_client_factory: Connect) -> None:
    api_client_factory()
    paid_order, pending = create_order(**PAID), create_order(customer={"email": "ben@example.com"})

    assert [order.id for order in shopify.Order.find(status="any")] == [pending.id, paid_order.id]
    assert shopify.Order.count() == 2
    assert shopify.Order.count(financial_status="paid") == 1
    assert [order.id for order in shopify.Order.find(financial_status="pending", fields="id,name")] == [pending.id]
    assert [order.name for order in shopify.Order.find(customer_id=paid_order.customer.id)] == ["#1001"]
    assert [order.name for order in shopify.Customer.find(pending.customer.id).orders()] == ["#1002"]


def test_an_order_is_closed_and_opened(api_client_factory: Connect) -> None:
    api_client_factory()
    order = create_order()

    order.close()
    closed_at = order.closed_at
    open_orders = shopify.Order.find()
    order.open()

    assert closed_at is not None
    assert open_orders == []
    assert order.closed_at is None
    assert [matching_order.id for matching_order in shopify.Order.find(status="open")] == [order.id]


def test_an_order_is_cancelled_with_the_clients_parameters(api_client_factory: Connect) -> None:
    api_client_factory()
    order = create_order()

    order.cancel(reason="customer", email=False, restock=True)
    order.reload()

    assert order.cancel_reason == "customer"
    assert order.cancelled_at is not None
    assert shopify.Order.count(status="cancelled") == 1


def test_an_order_is_deleted(api_client_factory: Connect) -> None:
    api_client_factory()
    order = create_order()

    order.destroy()

    assert shopify.Order.count(status="any") == 0
    with pytest.raises(ResourceNotFound):
        shopify.Order.find(order.id)


def test_transactions_are_made_listed_and_found(api_client_factory: Connect) -> None:
    api_client_factory()
    order = create_order()

    sale = shopify.Transaction.create(
        {"order_id": order.id, "kind": "sale", "amount": "10.00", "gateway": "manual", "currency": "USD"}
    )
    rows = order.transactions()
    transaction = shopify.Transaction.find(sale.id, order_id=order.id)
    order.reload()

    assert sale.errors.full_messages() == []
    assert [(entry.kind, entry.amount, entry.status) for entry in rows] == [("sale", "10.00", "success")]
    assert (transaction.order_id, transaction.amount) == (order.id, "10.00")
    assert order.financial_status == "partially_paid"
    assert shopify.Transaction.count(order_id=order.id) == 1


@pytest.mark.parametrize(
    ("amounts", "captured", "status"), [((), "24.00", "paid"), (("9.50",), "9.50", "partially_paid")]
)
def test_authorizations_are_captured(
    api_client_factory: Connect, amounts: tuple[str, ...], captured: str, status: str
) -> None:
    api_client_factory()
    order = create_order(**AUTHORIZED)

    capture = order.capture(*amounts)
    order.reload()

    assert capture.errors.full_messages() == []
    assert (capture.kind, Decimal(capture.amount), capture.gateway) == ("capture", Decimal(captured), "cards")
    assert order.financial_status == status


def test_an_authorization_is_voided(api_client_factory: Connect) -> None:
    api_client_factory()
    order = create_order(**AUTHORIZED)

    void = shopify.Transaction.create({"order_id": order.id, "kind": "void", "parent_id": order.transactions()[0].id})
    order.reload()

    assert void.errors.full_messages() == []
    assert order.financial_status == "voided"


def test_events_tell_what_happened_to_an_order(api_client_factory: Connect) -> None:
    api_client_factory()
    order = create_order()
    order.close()

    events = order.events()

    assert [(event.subject_type, event.subject_id, event.verb) for event in events] == [
        ("Order", order.id, "create"),
        ("Order", order.id, "update"),
    ]
    assert shopify.Event.find(events[0].id).verb == "create"
    assert [event.id for event in shopify.Event.find(filter="Order", verb="update")] == [events[1].id]
    assert shopify.Event.count() >= 2


def test_events_of_a_product_are_its_own(api_client_factory: Connect) -> None:
    api_client_factory()
    product = shopify.Product.create({"title": "Mug"})
    create_order()

    assert [(event.subject_id, event.verb) for event in product.events()] == [(product.id, "create")]


def test_orders_have_metafields(api_client_factory: Connect) -> None:
    api_client_factory()
    order = create_order()

    order.add_metafield(
        shopify.Metafield({"namespace": "pack", "key": "weight", "type": "number_integer", "value": 700})
    )

    assert [(row.key, row.value) for row in order.metafields()] == [("weight", 700)]
    assert order.metafields_count() == 1


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
