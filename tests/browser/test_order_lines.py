"""Tests for editing an order's items by keyboard, with a preview of the price difference."""

import re
from decimal import Decimal

import pytest
from playwright.sync_api import expect

from apps.ground.tenancy import shop_scope
from apps.orders.models import LineItem
from apps.shops.models import Shop
from apps.staff.models import User
from tests.browser.conftest import Open
from tests.orders.factories import make_order, make_variant

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LINES = [
    {"title": "Mug", "price": Decimal("10.00"), "quantity": 2},
    {"title": "Bowl", "price": Decimal("25.00"), "quantity": 1},
]
TOTAL = re.compile(r"\bTotal\b")  # Does not match "Subtotal".


def get_lines(shop: Shop) -> list[tuple[str, int]]:
    with shop_scope(shop):
        return list(LineItem.objects.order_by("pk").values_list("title", "current_quantity"))


def test_lines_are_added_removed_and_discounted_by_keyboard_after_a_look_at_the_difference(
    logged_in_page: Open, committed_shop: Shop, owner: User, axe: None
) -> None:
    make_variant(committed_shop, stock=5, sku="CUP-1", product_title="Cup")
    order = make_order(committed_shop, lines=LINES, email="ada@example.com", financial_status="paid")
    window = logged_in_page(owner, committed_shop)
    page = window.go("orders_order_change", order.pk)

    page.get_by_role("link", name="Edit items…").press("Enter")
    expect(page.get_by_label("Quantity of Mug")).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("0")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Quantity of Bowl")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.type("5")
    page.keyboard.press("Tab")
    expect(page.get_by_label("SKU, barcode or beginning of the product title")).to_be_focused()
    page.keyboard.type("cup-1")
    page.keyboard.press("Enter")
    cup = page.get_by_label("Cup - Blue")
    expect(cup).to_be_focused()
    expect(page.get_by_label("Quantity of Mug")).to_have_value("0")
    barriers = window.barriers()
    page.set_viewport_size({"width": 390, "height": 844})
    barriers += window.barriers()
    page.keyboard.press("Control+a")
    page.keyboard.type("2")
    page.keyboard.press("Enter")

    difference = page.get_by_role("region", name="Changes")
    for move in ("2 × Mug removed", "2 × Cup - Blue added", "5.00 USD off Bowl"):
        expect(difference.get_by_role("listitem").filter(has_text=move)).to_be_visible()
    expect(difference.get_by_role("row", name=TOTAL)).to_contain_text("45.00 USD")
    expect(difference.get_by_role("row", name=TOTAL)).to_contain_text("40.00 USD")
    expect(difference).to_contain_text("You will owe the customer 5.00 USD.")
    assert get_lines(committed_shop) == [("Mug", 2), ("Bowl", 1)]
    barriers += window.barriers()
    page.get_by_role("button", name="Save").dblclick()
    page.wait_for_url("**/change/")

    expect(page.get_by_text(f"The items of order {order.name} were changed.")).to_be_visible()
    assert get_lines(committed_shop) == [("Mug", 0), ("Bowl", 1), ("Cup", 2)]
    assert barriers == []
    assert window.problems == []


def test_the_number_of_a_line_is_changed_and_thought_better_of(
    logged_in_page: Open, committed_shop: Shop, owner: User
) -> None:
    order = make_order(committed_shop, lines=LINES)
    window = logged_in_page(owner, committed_shop)
    page = window.go("orders_order_lines", order.pk)

    page.get_by_label("Quantity of Mug").fill("3")
    page.get_by_label("Quantity of Mug").press("Enter")
    expect(page.get_by_role("row", name=TOTAL)).to_contain_text("55.00 USD")
    page.get_by_role("button", name="Edit").click()
    expect(page.get_by_label("Quantity of Mug")).to_have_value("3")
    page.get_by_label("Title", exact=True).fill("Engraving")
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_text("Enter a price.")).to_be_visible()
    page.get_by_label("Price per item").fill("4,50")
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_role("row", name=TOTAL)).to_contain_text("59.50 USD")
    assert get_lines(committed_shop) == [("Mug", 2), ("Bowl", 1)]
    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**/change/")

    assert get_lines(committed_shop) == [("Mug", 2), ("Bowl", 1), ("Mug", 1), ("Engraving", 1)]
    assert window.problems == []
