"""See check M18 in docs/reliability.md: each type of error is found, reported and not changed."""

from decimal import Decimal
from io import StringIO
from unittest.mock import patch

import pytest
from django.core.management import CommandError, call_command
from django.db.models import F
from django.utils import timezone

from apps.catalog.models import Product, Variant
from apps.core.jobs import consistency_checks
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.core.types import Attrs
from apps.customers.models import NEVER_ORDERED, Customer
from apps.fulfillment.models import FulfillmentOrder, FulfillmentOrderLine
from apps.inventory.domain import stock
from apps.inventory.models import InventoryLevel
from apps.orders.domain.payments import create_transaction
from apps.orders.models import LineItem, Order, OrderCounter, ShippingLine, Transaction
from tests.faults.conftest import connect_from_outside
from tests.support import factories
from tests.support.factories.catalog import make_product
from tests.support.factories.fulfillment import route_order_now
from tests.support.factories.orders import make_order


def make_paid_order(shop: Shop) -> None:
    """Create a customer's paid order of stocked products."""
    at = timezone.now()
    with shop_scope(shop):
        variant = make_product("Mug", prices=("10.00",)).variants.get()
        stock.update_item(variant.inventory_item, {"tracked": True}, actor="system", at=at)
        stock.set_available(variant.inventory_item, stock.get_primary_location(), 5, actor="system", at=at)
        lines = [{"variant_id": variant.pk, "quantity": 2}]
        post, behaviour = [{"title": "Post", "price": Decimal(4)}], "decrement_obeying_policy"
        order = make_order(shop, email="ann@example.com", lines=lines, shipping=post, inventory_behaviour=behaviour)
        create_transaction(order, {"kind": "sale", "amount": order.total_price}, actor="system", at=at)
        route_order_now(order)


def run_command() -> str:
    """Return the command's output, or the error output if the command fails."""
    out, err = StringIO(), StringIO()
    try:
        call_command("check_consistency", stdout=out, stderr=err)
    except CommandError:
        return err.getvalue()
    return out.getvalue()


ONE = Decimal("1.00")
PLANTED: Attrs = {
    "stock": (InventoryLevel, {"available": F("available") + 1}),
    "variant quantities": (Variant, {"inventory_quantity": F("inventory_quantity") + 7}),
    "lowest prices": (Product, {"lowest_price": Decimal("9.99")}),
    "units sold": (Product, {"units_sold": F("units_sold") + 1}),
    "order totals": (Order, {"current_total_tax": F("current_total_tax") + Decimal("0.01")}),
    "order totals (a line)": (LineItem, {"quantity": F("quantity") + 1}),
    "order payments": (Order, {"total_paid": F("total_paid") - 1}),
    "order payments (a status)": (Order, {"financial_status": "pending"}),
    "order payments (a transaction)": (Transaction, {"shop_amount": F("shop_amount") + 1}),
    "order numbers": (OrderCounter, {"last_number": 0}),
    "order refunds": (LineItem, {"refunded_quantity": 1, "current_quantity": 1}),
    "order refunds (not restocked)": (LineItem, {"unrestocked_quantity": 1}),
    "order refunds (shipping)": (ShippingLine, {"refunded": ONE}),
    "order refunds (a duty)": (LineItem, {"refunded_duty": ONE, "duty": ONE}),
    "taxes by rate": (LineItem, {"refunded_duty_tax": ONE, "duty_tax": ONE}),
    "order refunds (a tax on a duty)": (LineItem, {"refunded_duty_tax": ONE, "duty_tax": ONE}),
    "order totals (duties)": (Order, {"total_duties": ONE}),
    "order totals (duties that are left)": (Order, {"current_total_duties": ONE}),
    "order totals (a line's duty)": (LineItem, {"duty": ONE}),
    "order refunds (a payment)": (Transaction, {"refunded": ONE}),
    "order refunds (what was kept)": (Order, {"refund_discrepancy": ONE}),
    "order refunds (a movement)": (Transaction, {"kind": "refund"}),
    "fulfillment order quantities": (FulfillmentOrderLine, {"quantity": 1, "fulfillable_quantity": 1}),
    "fulfillment order quantities (finished)": (FulfillmentOrder, {"status": "closed"}),
    "fulfillment order states": (FulfillmentOrderLine, {"fulfilled_quantity": 2, "fulfillable_quantity": 0}),
    "stock of fulfillment orders": (LineItem, {"taken_from": {"1": 2}}),
    "stock of orders": (LineItem, {"taken_from": {}}),
    "current quantities": (LineItem, {"fulfilled_quantity": 1, "fulfillable_quantity": 0}),
    "fulfilled quantities": (FulfillmentOrderLine, {"fulfilled_quantity": 1, "fulfillable_quantity": 1}),
    "customer totals": (Customer, {"orders_count": F("orders_count") + 1}),
    "customer totals (spent)": (Customer, {"total_spent": F("total_spent") + 1}),
    "customer totals (the last)": (Customer, {"last_order_at": NEVER_ORDERED}),
}


def test_consistency_checks_pass_after_a_sale_and_without_sales(shop: Shop, other_shop: Shop) -> None:
    make_paid_order(shop)

    assert run_command().startswith("No differences.")


@pytest.mark.parametrize("name", PLANTED)
def test_planted_error_is_named_and_left_as_it_is(shop: Shop, name: str) -> None:
    make_paid_order(shop)
    model, values = PLANTED[name]
    with all_shops_scope():
        assert model.objects.count() == 1
        model.objects.update(**values)
        before = model.objects.values().get()

    output = run_command()

    with all_shops_scope():
        assert model.objects.values().get() == before
    assert any(line.startswith(f"{name.split(' (', maxsplit=1)[0]}: ") for line in output.splitlines()), output
    assert f"hop {shop.pk}, " in output or f"shop {shop.pk}:" in output


def test_customer_totals_are_repaired_on_request(shop: Shop) -> None:
    make_paid_order(shop)
    columns = ("id", "orders_count", "total_spent", "last_order_id", "last_order_name", "last_order_at")
    with all_shops_scope():
        right = Customer.objects.values(*columns).get()
        Customer.objects.update(orders_count=7, total_spent=0, last_order_at=NEVER_ORDERED, last_order_name="")
    with pytest.raises(CommandError):
        call_command("check_money", stderr=StringIO())

    out = StringIO()
    call_command("check_money", "--repair-customers", stdout=out)

    assert f"shop {shop.pk}, customer {right['id']}: recalculated" in out.getvalue()
    with all_shops_scope():
        assert Customer.objects.values(*columns).get() == right


def test_row_that_refers_to_another_shops_is_named(shop: Shop, other_shop: Shop) -> None:
    make_paid_order(shop)
    with all_shops_scope():
        Order.objects.update(shop=other_shop)
        line = LineItem.objects.get()

    output = run_command()

    assert f"rows of other shops: shop {shop.pk}, orders_lineitem {line.pk}: its order" in output
    with all_shops_scope():
        assert LineItem.objects.get().shop_id == shop.pk


def test_every_check_has_a_planted_error() -> None:
    tried = {name.split(" (")[0] for name in PLANTED}
    # The tests of these checks need other rows (``test_planted_faults.py``).
    tried |= {"rows of other shops", "refund amounts", "oversold items"}
    # ``tests/documents/test_invoices.py`` plants the faults of documents.
    tried |= {"document numbers", "documents", "credit notes"}
    # ``tests/discounts/test_uses.py`` plants the fault of discount codes.
    tried |= {"uses of discount codes"}
    # ``tests/gift_cards`` plants the faults of gift cards.
    tried |= {"gift card balances", "gift card payments"}

    assert tried == set(consistency_checks.consistency_checks)


@pytest.mark.django_db(transaction=True)
def test_checks_cannot_write_and_keep_no_writer_waiting(caplog: pytest.LogCaptureFixture) -> None:
    shop = factories.make_shop()
    tried: list[Exception] = []

    def check() -> list[str]:
        before = Shop.objects.get().name
        with connect_from_outside() as other:
            other.execute("UPDATE shops_shop SET name = 'Renamed meanwhile'")
        shop_name = Shop.objects.get().name
        with pytest.raises(Exception, match=r"read-only|readonly") as caught:
            Shop.objects.update(name="Renamed by a check")
        tried.append(caught.value)
        return [f"{before} is {shop_name}"]

    with patch.dict(consistency_checks.consistency_checks, {"test": check}, clear=True):
        assert consistency_checks.log_differences() == 1

    assert f"test: {shop.name} is {shop.name}" in caplog.text
    shop.refresh_from_db()
    assert (len(tried), shop.name) == (1, "Renamed meanwhile")
