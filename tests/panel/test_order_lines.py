"""Tests for editing an order's items: search, review, saving once, and field errors."""

from decimal import Decimal

import pytest

from apps.events.models import Event
from apps.ground.tenancy import shop_scope
from apps.jobs.domain import consistency_checks
from apps.orders.domain import edit_lines
from apps.orders.domain.order_edits import LineEdit, OrderEdit
from apps.orders.domain.order_status import get_status_page_context
from apps.orders.models import LineItem, Order
from apps.shops.models import Shop
from tests.conftest import Response
from tests.orders.factories import get_available, make_order, make_variant
from tests.panel.conftest import Panel, PanelWith

# Skip the checks of catalog tables, because factories do not update the checked columns.
CHECKS = set(consistency_checks.get_check_names()) - {"lowest prices", "variant quantities"}
LINES, PAGE = "orders_order_lines", "orders_order_change"


@pytest.fixture
def order_client(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("orders", "edit_orders")


def send_form(panel: Panel, order: Order, step: str, **typed: str) -> Response:
    page = panel.get(LINES, order.pk)
    form_fields = {name: str(page.context["form"][name].value()) for name in ("seen_version",)}
    key = str(page.context["form_key"])
    return panel.post(LINES, order.pk, **{"form_key": key, "step": step, **form_fields, **typed})


def test_a_product_is_found_looked_at_and_added(order_client: Panel, shop: Shop) -> None:
    cup = make_variant(shop, stock=5, sku="CUP-1", product_title="Cup")
    order = make_order(shop, inventory_behaviour="decrement_obeying_policy", financial_status="paid")
    add = {f"add-{cup.pk}": "2", "own_quantity": "1"}

    results = send_form(order_client, order, "find", find="cup-1")
    look = send_form(order_client, order, "look", **add)
    with shop_scope(shop):
        untouched = LineItem.objects.count()
    response = send_form(order_client, order, "save", **add)

    assert [row.variant.pk for row in results.context["form"].variant_rows] == [cup.pk]
    assert look.context["outcome"] == {
        "changes": ["2 × Cup - Blue added"],
        "changed_totals": [
            ("Subtotal", "20.00 USD", "40.00 USD"),
            ("Total", "20.00 USD", "40.00 USD"),
            ("Balance", "0.00 USD", "20.00 USD"),
        ],
        "outstanding": "20.00 USD",
        "owed": "",
    }
    assert (f"add-{cup.pk}", "2") in look.context["sent"]
    assert (untouched, response.status_code, get_available(cup)) == (1, 302, 3)
    assert "Edited: 2 × Cup - Blue added" in order_client.get(PAGE, order.pk).content.decode()
    assert list(consistency_checks.find_differences(CHECKS)) == []


def test_items_are_removed_and_the_balance_is_shown(order_client: Panel, shop: Shop) -> None:
    order = make_order(shop, financial_status="paid")
    with shop_scope(shop):
        line = order.line_items.get()

    look = send_form(order_client, order, "look", **{f"units-{line.pk}": "0"})
    send_form(order_client, order, "save", **{f"units-{line.pk}": "0"})

    assert look.context["outcome"]["owed"] == "20.00 USD"
    with shop_scope(shop):
        order.refresh_from_db()
        assert order.current_total_price == 0
        assert Event.objects.get(topic="orders/edited").actor == f"staff:{order_client.user.pk}"
    assert list(consistency_checks.find_differences(CHECKS)) == []


def test_removed_items_are_shown_next_to_the_total_for_staff_and_customer(order_client: Panel, shop: Shop) -> None:
    order = make_order(shop)
    with shop_scope(shop):
        line = order.line_items.get()
    before = order_client.get(PAGE, order.pk).context["sums"]

    send_form(order_client, order, "save", **{f"units-{line.pk}": "1"})

    after = [*before[:-1], ("Removed or returned", "-10.00 USD"), ("Current total", "10.00 USD"), before[-1]]
    assert [label for label, _ in before] == ["Subtotal", "Total", "Paid"]
    assert order_client.get(PAGE, order.pk).context["sums"] == after
    with shop_scope(shop):
        order.refresh_from_db()
        assert get_status_page_context(order)["sums"] == [*after, ("Balance due", "10.00 USD")]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ({"units": "x"}, "Enter a whole number."),
        ({"units": "1"}, "Enter at least 2: fulfilled or refunded items cannot be removed."),
        ({"discount": "99"}, "Must be less than or equal to 20.00."),
        ({"own_title": "Gift"}, "Enter a price."),
        ({"own_price": "5"}, "Enter a title."),
        ({}, "Nothing was changed."),
        ({"find": "a\0b", "own_title": "a\0b"}, "Null characters are not allowed."),
        ({"seen_version": "1"}, "Someone else changed this order."),
    ],
)
def test_impossible_edits_are_reported_and_change_nothing(
    order_client: Panel, shop: Shop, typed: dict[str, str], message: str
) -> None:
    order = make_order(shop, fulfillment_status="fulfilled")
    with shop_scope(shop):
        pk = order.line_items.get().pk
    form_fields = {f"{name}-{pk}" if name in {"units", "discount"} else name: value for name, value in typed.items()}

    response = send_form(order_client, order, "save", **form_fields)

    assert response.status_code == 200
    assert message in response.content.decode()
    with shop_scope(shop):
        assert not Event.objects.filter(topic="orders/edited").exists()


def test_the_second_editor_sees_a_conflict(order_client: Panel, shop: Shop) -> None:
    order = make_order(shop)
    page = order_client.get(LINES, order.pk)
    with shop_scope(shop):
        pk = order.line_items.get().pk
        edit_lines.edit_lines(order, OrderEdit({pk: LineEdit(3)}), actor="app:1", at=order.created_at)

    payload = {"form_key": page.context["form_key"], "seen_version": str(order.version), f"units-{pk}": "1"}
    response = order_client.post(LINES, order.pk, step="save", **payload)

    assert "Someone else changed this order." in response.content.decode()
    with shop_scope(shop):
        order.refresh_from_db()
        assert order.current_total_price == Decimal("30.00")


def test_an_order_that_is_over_says_why_it_is_not_edited(order_client: Panel, shop: Shop) -> None:
    order = make_order(shop)
    order_client.forge("orders_order_close", order.pk)
    with shop_scope(shop):
        pk = order.line_items.get().pk

    response = send_form(order_client, order, "look", **{f"units-{pk}": "1"})

    assert "The order is closed. Reopen it to edit its items." in response.content.decode()
    assert "Edit items…" not in order_client.get(PAGE, order.pk).content.decode()
