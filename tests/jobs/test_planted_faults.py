"""The nightly checks find each fault of money, quantities and stock that earlier releases had, if its rows exist."""

from datetime import timedelta
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import F
from django.utils import timezone

from apps.catalog.models import Variant
from apps.core.jobs import consistency_checks
from apps.core.tenancy.models import Shop
from apps.fulfillment.models import Fulfillment, FulfillmentOrder, FulfillmentOrderLine
from apps.inventory.domain import stock
from apps.inventory.models import InventoryLevel, Location, StockMovement
from apps.orders.domain import edit_lines
from apps.orders.domain.edit_lines import LineEdit, OrderEdit
from apps.orders.models import LineItem, Order, Transaction
from apps.refunds.models import OrderAdjustment, RefundLineItem
from tests.support.api_client import ApiClient
from tests.support.factories.catalog import make_product
from tests.support.factories.fulfillment import route_order_now
from tests.support.factories.inventory import get_first_location, make_location, set_stock
from tests.support.types import Json, JsonObject

pytestmark = pytest.mark.usefixtures("in_shop")


class PlantedShop:
    """A shop with a tracked variant at two locations and one order. All requests must succeed."""

    def __init__(self, api: ApiClient, shop: Shop) -> None:
        self.api = api
        self.home, self.north = get_first_location(shop), make_location(shop, name="North")
        self.variant = make_product("Mug", prices=("10.00",)).variants.get()
        stock.update_item(self.variant.inventory_item, {"tracked": True}, actor="system", at=timezone.now())
        for location in (self.home, self.north):
            set_stock(self.variant.inventory_item, location, 100)

    def post(self, path: str, body: object = None) -> Json:
        response = self.api.post(path, body)
        assert response.status_code in {200, 201}, response.content
        return response.json()

    def order(self, quantity: int, **body: object) -> Order:
        line = {"variant_id": self.variant.pk, "quantity": quantity}
        values = {"line_items": [line], "inventory_behaviour": "decrement_obeying_policy", **body}
        order = Order.objects.get(pk=self.post("orders.json", {"order": values})["order"]["id"])
        route_order_now(order)
        return order

    def ship(self, order: Order, quantity: int) -> int:
        """Fulfill items and return the id of the fulfillment."""
        rows = FulfillmentOrderLine.objects.filter(fulfillment_order__order=order, fulfillable_quantity__gte=quantity)
        line = rows.earliest("pk")
        units = [{"id": line.pk, "quantity": quantity}]
        part = {"fulfillment_order_id": line.fulfillment_order_id, "fulfillment_order_line_items": units}
        body = {"fulfillment": {"line_items_by_fulfillment_order": [part]}}
        return int(self.post("fulfillments.json", body)["fulfillment"]["id"])

    def cancel_parcel(self, fulfillment: int) -> None:
        self.post(f"fulfillments/{fulfillment}/cancel.json")

    def refund(self, order: Order, kind: str, quantity: int = 1, **body: object) -> JsonObject:
        row: JsonObject = {"line_item_id": order.line_items.get().pk, "quantity": quantity, "restock_type": kind}
        if kind != "no_restock":
            row["location_id"] = self.home.pk
        refund = {"refund_line_items": [row], **body}
        return dict(self.post(f"orders/{order.pk}/refunds.json", {"refund": refund})["refund"])


@pytest.fixture
def planted(api: ApiClient, shop: Shop) -> PlantedShop:
    return PlantedShop(api, shop)


def find_new() -> list[str]:
    return list(consistency_checks.find_differences())


def expect(check: str, *parts: object) -> None:
    """Expect a message of the check with the parts. The message ends with advice."""
    found = [text for text in find_new() if text.startswith(f"{check}: shop ")]
    assert any(all(str(part) in text for part in parts) for text in found), find_new()
    assert all(text.endswith(consistency_checks.advice[check]) for text in found)


def make_euro_order(planted: PlantedShop, **line: object) -> Order:
    """Create an order in yen that was presented and paid in dollars."""
    body = {
        "currency": "JPY",
        "presentment_currency": "USD",
        "exchange_rate": "0.006694",
        "line_items": [{"title": "Mug", "price": 3556, "quantity": 4, **line}],
        "transactions": [{"kind": "sale", "amount": "95.22", "currency": "USD"}],
    }
    return Order.objects.get(pk=planted.post("orders.json", {"order": body})["order"]["id"])


def set_presentment(order: Order, **amounts: str) -> None:
    Order.objects.filter(pk=order.pk).update(presentment_totals={**order.presentment_totals, **amounts})


def test_every_check_has_advice() -> None:
    assert consistency_checks.advice.keys() == consistency_checks.consistency_checks.keys()
    assert all(text.endswith(".") for text in consistency_checks.advice.values())


def test_correct_orders_have_no_differences(planted: PlantedShop) -> None:
    order = planted.order(5)
    planted.ship(order, 2)
    planted.cancel_parcel(planted.ship(order, 2))
    for kind in ("cancel", "return", "no_restock"):
        planted.refund(order, kind)
    foreign = make_euro_order(planted, tax_lines=[{"title": "VAT", "rate": "0.1"}], taxable=True)
    refund: JsonObject = {
        "currency": "USD",
        "refund_line_items": [{"line_item_id": foreign.line_items.get().pk, "quantity": 3}],
    }
    suggested = planted.post(f"orders/{foreign.pk}/refunds/calculate.json", {"refund": refund})["refund"]
    planted.post(f"orders/{foreign.pk}/refunds.json", {"refund": {**refund, "transactions": suggested["transactions"]}})

    assert find_new() == []


# --- currencies ---


@pytest.mark.parametrize(
    ("column", "amount", "check"),
    [
        ("current_subtotal_price", "95.21", "order totals"),
        ("current_total_price", "95.23", "order totals"),
        ("total_price", "95.21", "order totals"),
        ("total_paid", "95.21", "order payments"),
        ("total_refunded", "0.01", "order payments"),
    ],
)
def test_wrong_presentment_total_is_found(planted: PlantedShop, column: str, amount: str, check: str) -> None:
    order = make_euro_order(planted)
    set_presentment(order, **{column: amount})

    expect(check, f"order {order.pk}: {column} {Decimal(amount).normalize():f} USD, expected")


def test_refund_in_another_currency_than_its_payment_is_found(planted: PlantedShop) -> None:
    order = make_euro_order(planted)
    planted.refund(
        order, "no_restock", currency="USD", transactions=[{"amount": "23.81", "kind": "refund", "gateway": "manual"}]
    )
    Transaction.objects.filter(kind="refund").update(currency="JPY")

    expect("order refunds", f"order {order.pk}", "is in JPY", "is in USD")


def test_rest_of_a_fully_refunded_payment_is_found(planted: PlantedShop) -> None:
    order = make_euro_order(planted)
    planted.refund(
        order,
        "no_restock",
        4,
        currency="USD",
        transactions=[{"amount": "95.22", "kind": "refund", "gateway": "manual"}],
    )
    Transaction.objects.filter(kind="refund").update(shop_amount=F("shop_amount") - 1)

    expect("order refunds", f"order {order.pk}", "is refunded in full", "14223", "JPY, expected 14224")


def test_amount_in_the_order_currency_that_is_converted_is_found(planted: PlantedShop) -> None:
    order = planted.order(1, financial_status="paid")
    Transaction.objects.update(shop_amount=F("shop_amount") + Decimal("0.01"))

    expect("order refunds", f"order {order.pk}", "shop_amount 10.010 USD, expected its amount 10.000")


@pytest.mark.parametrize(
    ("column", "name", "currency"),
    [
        ("subtotal", "price", "JPY"),
        ("total_tax", "tax", "JPY"),
        ("presentment_subtotal", "price", "USD"),
        ("presentment_tax", "tax", "USD"),
    ],
)
def test_wrong_refunded_price_or_tax_is_found(planted: PlantedShop, column: str, name: str, currency: str) -> None:
    order = make_euro_order(planted, tax_lines=[{"title": "VAT", "rate": "0.1"}])
    planted.refund(order, "no_restock")
    RefundLineItem.objects.update(**{column: F(column) + (1 if currency == "JPY" else Decimal("0.01"))})

    line = order.line_items.get().pk
    expect("refund amounts", f"order {order.pk}, line item {line}: the refunded {name} is", f"{currency}, expected")


def test_refunded_tax_of_a_partly_edited_line_is_at_most_its_tax(planted: PlantedShop) -> None:
    order = planted.order(3, tax_lines=[{"title": "VAT", "rate": "0.1"}])
    edit = OrderEdit({order.line_items.get().pk: LineEdit(2)})
    edit_lines.edit_lines(order, edit, actor="system", at=timezone.now())
    planted.refund(order, "cancel")
    assert find_new() == []
    RefundLineItem.objects.update(total_tax=Decimal("2.01"))

    expect("refund amounts", "refunded tax is 2.01 USD, expected at most 2.00 USD")


def test_wrong_shipping_adjustment_is_found(planted: PlantedShop) -> None:
    order = planted.order(1, shipping_lines=[{"title": "Post", "price": "5.00"}], financial_status="paid")
    planted.refund(order, "cancel", shipping={"full_refund": True})
    assert find_new() == []
    OrderAdjustment.objects.update(tax_amount=Decimal("-0.50"))

    expect("refund amounts", f"order {order.pk}: the shipping adjustment of refund")


def test_discrepancy_in_one_currency_only_is_found(planted: PlantedShop) -> None:
    order = make_euro_order(planted)
    planted.refund(
        order, "no_restock", currency="USD", transactions=[{"amount": "20.00", "kind": "refund", "gateway": "manual"}]
    )
    assert find_new() == []
    OrderAdjustment.objects.update(presentment_amount=F("presentment_amount") - Decimal("0.01"))

    expect("refund amounts", f"order {order.pk}: the refunded discrepancy is 3.81 USD, expected 3.80 USD")


# --- canceled orders ---


def test_balance_of_a_canceled_order_is_found(planted: PlantedShop) -> None:
    order = planted.order(2)
    planted.post(f"orders/{order.pk}/cancel.json", {"restock": False})
    assert find_new() == []
    Order.objects.update(financial_status="pending")

    expect("order payments", f"order {order.pk}: financial_status 'pending', expected 'voided'")


def test_work_of_a_canceled_order_is_found(planted: PlantedShop) -> None:
    order = planted.order(2)
    Order.objects.update(status="cancelled", cancelled_at=timezone.now())

    expect("fulfillment order states", "open / unsubmitted, but the order is canceled")
    expect("fulfillment order states", f"order {order.pk}, line item", "fulfillable quantity 2")


def test_restocked_order_without_moved_stock_is_found(planted: PlantedShop) -> None:
    order = planted.order(2, financial_status="paid")
    planted.post(f"orders/{order.pk}/cancel.json", {"restock": False, "amount": "20.00", "currency": "USD"})
    assert find_new() == []
    LineItem.objects.update(unrestocked_quantity=0)
    Order.objects.update(fulfillment_status="restocked")

    expect("stock of fulfillment orders", f"order {order.pk}, line item", "2 taken from stock, but 0 are current")


# --- quantities ---


def test_return_that_took_an_edited_item_is_found(planted: PlantedShop) -> None:
    order = planted.order(3, inventory_behaviour="bypass")
    edit = OrderEdit({order.line_items.get().pk: LineEdit(2)})
    edit_lines.edit_lines(order, edit, actor="system", at=timezone.now())
    planted.ship(order, 2)
    planted.refund(order, "return")
    assert find_new() == []
    LineItem.objects.update(current_quantity=2)

    expect("current quantities", f"order {order.pk}, line item", "current quantity 2", "2 fulfilled and 1 returned")


@pytest.mark.parametrize("wrong", [0, 2])
def test_wrong_unrestocked_quantity_is_found(planted: PlantedShop, wrong: int) -> None:
    order = planted.order(5, inventory_behaviour="bypass")
    planted.refund(order, "no_restock")
    assert find_new() == []
    LineItem.objects.update(unrestocked_quantity=wrong)

    expect("current quantities", f"order {order.pk}, line item", f"unrestocked quantity {wrong}")


def test_item_stranded_by_a_canceled_parcel_is_found(planted: PlantedShop) -> None:
    order = planted.order(2)
    planted.ship(order, 1)
    second = planted.ship(order, 1)
    planted.refund(order, "return")
    planted.cancel_parcel(second)
    assert find_new() == []
    FulfillmentOrderLine.objects.filter(fulfillable_quantity=1).delete()
    FulfillmentOrder.objects.exclude(status="closed").delete()
    LineItem.objects.update(fulfillable_quantity=0)

    expect("current quantities", f"order {order.pk}, line item", "0 unfulfilled, 1 fulfilled and 1 returned")


def test_item_that_came_back_before_its_parcel_was_canceled_is_right(planted: PlantedShop) -> None:
    order = planted.order(2)
    first = planted.ship(order, 1)
    planted.refund(order, "return")
    planted.cancel_parcel(first)
    planted.ship(order, 1)

    line = order.line_items.get()
    assert (line.fulfillable_quantity, line.fulfilled_quantity, line.current_quantity) == (0, 1, 1)
    assert find_new() == []


def test_many_canceled_parcels_are_checked_by_their_bounds(planted: PlantedShop) -> None:
    order = planted.order(20)
    for _ in range(8):
        parcel = planted.ship(order, 2)
        planted.refund(order, "return")
        planted.cancel_parcel(parcel)
    Fulfillment.objects.update(updated_at=timezone.now())
    assert find_new() == []
    LineItem.objects.update(current_quantity=F("current_quantity") - 9)

    expect("current quantities", f"order {order.pk}, line item")


def test_item_that_a_canceled_parcel_lost_is_found(planted: PlantedShop) -> None:
    order = planted.order(5)
    planted.refund(order, "no_restock")
    planted.cancel_parcel(planted.ship(order, 5))
    assert find_new() == []
    FulfillmentOrderLine.objects.filter(fulfillable_quantity=5).update(quantity=4, fulfillable_quantity=4)
    LineItem.objects.update(fulfillable_quantity=4)

    expect("current quantities", f"order {order.pk}, line item", "4 unfulfilled, 0 fulfilled and 0 returned")


def test_items_in_no_fulfillment_order_are_found(planted: PlantedShop) -> None:
    order = planted.order(3)
    planted.ship(order, 1)
    FulfillmentOrderLine.objects.update(quantity=1, fulfillable_quantity=0)
    FulfillmentOrder.objects.update(status="closed")
    LineItem.objects.update(updated_at=timezone.now() - timedelta(hours=7))

    expect("fulfillment order quantities", f"order {order.pk}, line item", "fulfillable quantity 2, but none")


def test_too_few_fulfilled_items_of_a_line_are_found(planted: PlantedShop) -> None:
    order = planted.order(3)
    planted.ship(order, 2)
    LineItem.objects.update(fulfilled_quantity=1)

    expect("fulfilled quantities", f"order {order.pk}, line item", "fulfilled quantity 1, but 2 in fulfillment orders")


@pytest.mark.parametrize("request_status", ["cancellation_requested", "accepted"])
def test_finished_fulfillment_order_in_a_pending_list_is_found(planted: PlantedShop, request_status: str) -> None:
    order = planted.order(2)
    planted.ship(order, 2)
    assert find_new() == []
    FulfillmentOrder.objects.update(status="in_progress", request_status=request_status)

    expect("fulfillment order states", f"order {order.pk}", f"in_progress / {request_status}, but has no unfulfilled")


# --- stock ---


def test_stock_at_the_wrong_location_is_found(planted: PlantedShop) -> None:
    order = planted.order(2)
    row = FulfillmentOrder.objects.get()
    units = [{"id": row.lines.get().pk, "quantity": 1}]
    body = {"fulfillment_order": {"new_location_id": planted.north.pk, "fulfillment_order_line_items": units}}
    planted.post(f"fulfillment_orders/{row.pk}/move.json", body)
    assert find_new() == []
    LineItem.objects.update(taken_from={str(planted.north.pk): 2})

    expect(
        "stock of fulfillment orders",
        f"order {order.pk}, line item {order.line_items.get().pk}, location {planted.home.pk}: 1 in fulfillment",
        "0 taken from stock there",
    )


@pytest.mark.parametrize("behavior", ["bypass", "decrement_ignoring_policy"])
def test_stock_that_was_never_taken_and_came_back_is_found(planted: PlantedShop, behavior: str) -> None:
    order = planted.order(3, inventory_behaviour=behavior)
    item = planted.variant.inventory_item
    StockMovement.objects.create(
        shop=order.shop,
        item=item,
        location=planted.home,
        delta=3,
        available=103,
        reason="restock",
        actor="system",
        reference=order.name,
        at=timezone.now(),
    )
    InventoryLevel.objects.filter(location=planted.home).update(available=F("available") + 3)
    Variant.objects.update(inventory_quantity=F("inventory_quantity") + 3)

    taken, sold = (0, -3) if behavior == "bypass" else (3, 0)
    expect("stock of orders", f"order {order.pk}, item {item.pk}", f"took {taken} from stock", f"add up to {sold}")


def test_item_oversold_although_denied_is_found(planted: PlantedShop) -> None:
    order = planted.order(100)
    item = planted.variant.inventory_item
    set_stock(item, planted.home, 0)
    StockMovement.objects.filter(reason="sale").update(available=-5)
    Variant.objects.update(updated_at=StockMovement.objects.get(reason="sale").at)

    expect("oversold items", f"order {order.pk}, item {item.pk}, location {planted.home.pk}", "until -5 were available")


def test_items_of_imported_orders_with_a_reused_name_are_right(planted: PlantedShop) -> None:
    order = planted.order(3)
    StockMovement.objects.create(
        shop=order.shop,
        item=planted.variant.inventory_item,
        location=planted.north,
        delta=0,
        available=100,
        reason="count",
        actor="system",
        at=timezone.now(),
    )
    StockMovement.objects.filter(reason="sale").update(at=timezone.now() - timedelta(days=3))
    LineItem.objects.update(taken_from={})

    assert [text for text in find_new() if text.startswith("stock of orders")] == []


# --- the commands ---


@pytest.mark.parametrize("command", ["check_money", "check_stock", "check_consistency"])
def test_commands_report_stock_at_the_wrong_location(planted: PlantedShop, command: str) -> None:
    planted.order(2)
    call_command(command, stdout=StringIO())
    LineItem.objects.update(taken_from={str(planted.north.pk): 2})
    errors = StringIO()

    with pytest.raises(CommandError, match="1"):
        call_command(command, stdout=errors, stderr=errors)

    assert f"location {planted.home.pk}" in errors.getvalue()


def test_reported_differences_are_limited(planted: PlantedShop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consistency_checks, "_MAX_DIFFERENCES", 2)
    for _ in range(4):
        planted.order(1)
    LineItem.objects.update(taken_from={str(planted.home.pk): 2})

    found = [text for text in find_new() if text.startswith("stock of fulfillment orders")]

    assert (len(found), found[-1].split(".")[0]) == (3, "stock of fulfillment orders: 2 more differences")
    assert Location.objects.count() == 2


def test_sums_of_amounts_that_binary_numbers_cannot_hold_are_right(planted: PlantedShop) -> None:
    order = planted.order(1, shipping_lines=[{"title": "Post", "price": "4.99"}], financial_status="paid")
    for amount in ("0.10", "0.20", "0.70", "1.10"):
        planted.post(
            f"orders/{order.pk}/refunds.json",
            {"refund": {"shipping": {"amount": amount}, "transactions": [{"amount": "0.00", "gateway": "manual"}]}},
        )
    payback = {"amount": "14.99", "kind": "refund", "gateway": "manual"}
    planted.post(f"orders/{order.pk}/refunds.json", {"refund": {"transactions": [payback]}})

    assert find_new() == []


# --- edits, nights and names ---


def make_two_line_order(planted: PlantedShop, *, refunded: int) -> Order:
    """Create an order with two line items of different prices, and refund an item of one of them."""
    body = {
        "currency": "JPY",
        "presentment_currency": "USD",
        "exchange_rate": "0.006694",
        "line_items": [{"title": "Mug", "price": price, "quantity": 3} for price in (3556, 99)],
        "financial_status": "paid",
    }
    order = Order.objects.get(pk=planted.post("orders.json", {"order": body})["order"]["id"])
    line = order.line_items.order_by("position")[refunded]
    row = {"line_item_id": line.pk, "quantity": 1, "restock_type": "no_restock"}
    planted.post(f"orders/{order.pk}/refunds.json", {"refund": {"currency": "JPY", "refund_line_items": [row]}})
    added = [{"title": f"Pen {number}", "price": Decimal(333), "quantity": 1} for number in range(3)]
    edit_lines.edit_lines(order, OrderEdit({}, new_lines=added), actor="system", at=timezone.now())
    return order


def test_edits_change_only_the_price_of_the_highest_line(planted: PlantedShop) -> None:
    order = make_two_line_order(planted, refunded=1)
    assert find_new() == []
    RefundLineItem.objects.update(presentment_subtotal=F("presentment_subtotal") + Decimal("0.01"))

    expect("refund amounts", f"order {order.pk}, line item", "the refunded price is 0.67 USD, expected 0.66 USD")


@pytest.mark.parametrize(("more", "is_found"), [("0.28", False), ("0.29", True)])
def test_the_price_of_the_highest_line_has_a_tolerance_after_an_edit(
    planted: PlantedShop, more: str, is_found: bool
) -> None:
    # Two totals and five amounts of each of the five line items are rounded, and one refund.
    make_two_line_order(planted, refunded=0)
    RefundLineItem.objects.update(presentment_subtotal=F("presentment_subtotal") + Decimal(more))

    assert bool(find_new()) == is_found


def test_taxes_have_no_tolerance_after_an_edit(planted: PlantedShop) -> None:
    order = make_two_line_order(planted, refunded=0)
    RefundLineItem.objects.update(presentment_tax=Decimal("0.01"))

    expect("refund amounts", f"order {order.pk}, line item", "the refunded tax is 0.01 USD, expected 0.00 USD")


@pytest.mark.both_databases
def test_a_new_order_with_the_name_of_a_deleted_one_is_right(planted: PlantedShop) -> None:
    deleted = planted.order(3)
    StockMovement.objects.filter(reference=deleted.name).update(reference="#77")
    deleted.delete()
    order = planted.order(2)
    StockMovement.objects.filter(reference=order.name).update(reference="#77")
    Order.objects.update(name="#77")
    assert not [text for text in find_new() if text.startswith("stock of orders")]
    LineItem.objects.update(taken_from={str(planted.home.pk): 5})

    expect("stock of orders", f"order {order.pk}", "took 5 from stock", "add up to 2")


@pytest.mark.both_databases
def test_nights_share_the_old_orders_with_two_currencies(planted: PlantedShop) -> None:
    orders = [make_euro_order(planted) for _ in range(3)]
    for order in orders:
        set_presentment(order, total_price="95.21")
    now = timezone.now()
    names = {"order totals"}

    def count(*, days: int) -> int:
        return len(list(consistency_checks.find_differences(names, night=now + timedelta(days=days))))

    assert count(days=0) == len(list(consistency_checks.find_differences(names))) == 3
    if connection.vendor == "postgresql":
        assert [count(days=days) for days in range(4, 34)].count(1) == 3
        assert sum(count(days=days) for days in range(4, 34)) == 3
