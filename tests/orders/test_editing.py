from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.exceptions import DomainError
from apps.core.jobs import consistency_checks
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.fulfillment.domain.fulfillment_orders import routing
from apps.fulfillment.models import FulfillmentOrder, FulfillmentOrderLine
from apps.inventory.models import StockMovement
from apps.orders.domain import edit_lines, payments, transitions
from apps.orders.domain.edit_lines import LineEdit, OrderEdit
from apps.orders.models import LineItem, Order
from tests.support.factories.orders import MUG, get_available, make_order, make_variant

BY: Attrs = {"actor": "staff:1"}
# Skip the checks of catalog tables, because factories do not update the checked columns.
CHECKS = set(consistency_checks.consistency_checks) - {"lowest prices", "variant quantities"}
VAT = [{"title": "VAT", "rate": Decimal("0.2"), "price": None}]


@pytest.fixture
def scoped_shop(in_shop: Shop) -> Iterator[Shop]:
    yield in_shop
    assert list(consistency_checks.find_differences(CHECKS)) == []


def edit_order(order: Order, lines: dict[int, LineEdit], *added: Any, **more: Any) -> edit_lines.EditResult:
    return edit_lines.edit_lines(order, OrderEdit(lines, added, **more), **BY, at=timezone.now())


def get_line_item(order: Order, index: int = 0) -> LineItem:
    return LineItem.objects.filter(order=order).order_by("position", "pk")[index]


def make_routed_order(shop: Shop, line: Attrs) -> Order:
    behavior = "decrement_obeying_policy"
    order = make_order(shop, lines=[line], inventory_behaviour=behavior, financial_status="paid")
    routing.route_order(order.pk, at=timezone.now())
    return order


def test_units_are_added_taken_from_stock_taxed_and_routed(scoped_shop: Shop) -> None:
    mug, cup = make_variant(scoped_shop, stock=5), make_variant(scoped_shop, stock=5, sku="CUP", price=Decimal("7.00"))
    order = make_routed_order(scoped_shop, {"variant_id": mug.pk, "quantity": 2, "tax_lines": VAT})
    Job.objects.all().delete()

    outcome = edit_order(order, {get_line_item(order).pk: LineEdit(3)}, {"variant_id": cup.pk, "quantity": 1})
    routing.route_order(order.pk, at=timezone.now())

    order.refresh_from_db()
    assert order.total_price == order.current_total_price == Decimal("44.40")
    assert (order.outstanding, order.financial_status) == (Decimal("20.40"), "partially_paid")
    assert outcome.outstanding == order.outstanding
    assert (get_available(mug), get_available(cup)) == (2, 4)
    assert [row.task for row in Job.objects.all()].count("fulfillment.route_order") == 1
    assert sum(row.quantity for row in FulfillmentOrderLine.objects.all()) == 4
    topics = list(Event.objects.filter(subject_type="orders.order").order_by("id").values_list("topic", flat=True))
    assert topics[-2:] == ["orders/updated", "orders/edited"]
    event = Event.objects.get(topic="orders/edited")
    assert event.message == "Edited: 1 × Mug - Blue added; 1 × Mug - Blue added"
    assert event.changes["current_total_price"] == ["24.00", "44.40"]


def test_removed_units_leave_stock_and_fulfillment_and_overpayment_is_owed(scoped_shop: Shop) -> None:
    mug = make_variant(scoped_shop, stock=5)
    order = make_routed_order(scoped_shop, {"variant_id": mug.pk, "quantity": 3, "tax_lines": VAT})

    edit_order(order, {get_line_item(order).pk: LineEdit(1)})

    order.refresh_from_db()
    line = get_line_item(order)
    assert (line.quantity, line.current_quantity, line.fulfillable_quantity) == (3, 1, 1)
    assert (order.total_price, order.current_total_price) == (Decimal("36.00"), Decimal("12.00"))
    assert order.outstanding == Decimal("-24.00")
    assert get_available(mug) == 4
    assert FulfillmentOrderLine.objects.get().quantity == 1
    assert StockMovement.objects.filter(reason="restock").count() == 1

    edit_order(order, {line.pk: LineEdit(0)})
    assert FulfillmentOrder.objects.get().status == "closed"


def test_a_discount_lowers_price_and_tax_and_is_previewed(scoped_shop: Shop) -> None:
    order = make_order(scoped_shop, lines=[{**MUG, "tax_lines": VAT}])
    order_edit = OrderEdit({get_line_item(order).pk: LineEdit(discount=Decimal("5.00"))}, seen_version=order.version)

    preview = edit_lines.preview_edit(order, order_edit, **BY, at=timezone.now())
    untouched = Order.objects.get(pk=order.pk)
    result = edit_lines.edit_lines(order, order_edit, **BY, at=timezone.now())

    assert untouched.version == order.version
    assert preview.changed_totals == result.changed_totals
    assert ("Total", Decimal("24.00"), Decimal("18.00")) in result.changed_totals
    order.refresh_from_db()
    assert [order.total_discounts, order.total_tax, order.total_price] == [Decimal(5), Decimal(3), Decimal(18)]
    assert (order.tax_lines[0]["price"], len(order.discount_applications)) == ("3.00", 1)


def test_a_line_of_its_own_is_sold_without_a_variant(scoped_shop: Shop) -> None:
    order = make_order(scoped_shop)

    line = {"title": "Engraving", "price": Decimal("4.50"), "quantity": 2, "requires_shipping": False}
    edit_order(order, {}, {**line, "total_discount": Decimal("1.00")})

    order.refresh_from_db()
    assert (order.total_price, get_line_item(order, 1).name) == (Decimal("28.00"), "Engraving")


@pytest.mark.parametrize("state", ["cancelled", "closed"])
def test_closed_orders_are_not_edited(scoped_shop: Shop, state: str) -> None:
    order = make_order(scoped_shop)
    (transitions.cancel_order if state == "cancelled" else transitions.close_order)(order, **BY, at=timezone.now())

    with pytest.raises(DomainError, match=f"The order is {state.replace('cancelled', 'canceled')}"):
        edit_order(order, {get_line_item(order).pk: LineEdit(3)})

    assert LineItem.objects.count() == 1


def test_fulfilled_items_stay_and_stale_or_impossible_edits_are_refused(scoped_shop: Shop) -> None:
    order = make_order(scoped_shop, fulfillment_status="fulfilled")
    pk = get_line_item(order).pk
    refused = [
        ({pk: LineEdit(1)}, (), {}),
        ({pk: LineEdit(-1)}, (), {}),
        ({pk: LineEdit(discount=Decimal("20.01"))}, (), {}),
        ({pk: LineEdit(discount=Decimal("0.001"))}, (), {}),
        ({pk: LineEdit(2)}, (), {}),
        ({pk + 99: LineEdit(1)}, (), {}),
        ({}, ({"title": "", "quantity": 1},), {}),
        ({}, ({"variant_id": 99, "quantity": 1},), {}),
        ({}, ({"title": "Gold", "price": Decimal(10**11), "quantity": 10**6},), {}),
        ({pk: LineEdit(3)}, (), {"seen_version": order.version - 1}),
    ]

    for lines, added, more in refused:
        with pytest.raises(DomainError):
            edit_order(order, lines, *added, **more)

    assert Order.objects.get().version == order.version
    assert not Event.objects.filter(topic="orders/edited").exists()


def test_units_sold_are_counted_with_those_that_come_later(scoped_shop: Shop) -> None:
    mug = make_variant(scoped_shop)
    order = make_order(scoped_shop, lines=[{"variant_id": mug.pk, "quantity": 2}], financial_status="paid")

    edit_order(order, {get_line_item(order).pk: LineEdit(5)})
    payments.create_transaction(order, {"kind": "sale"}, **BY, at=timezone.now())

    mug.product.refresh_from_db()
    assert mug.product.units_sold == 5
