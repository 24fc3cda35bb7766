import re
from decimal import Decimal

import pytest
from playwright.sync_api import expect

from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.orders.models import LineItem, Transaction
from apps.refunds.models import Refund
from tests.support.browser.pages import BrowserPage
from tests.support.factories.orders import make_order, make_variant
from tests.support.factories.refunds import (
    create_bogus_order,
    get_transaction,
    is_money_consistent,
    refund_amount,
    run_refund_jobs,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LINES = [
    {"title": "Mug", "price": Decimal("10.00"), "quantity": 2},
    {"title": "Bowl", "price": Decimal("25.00"), "quantity": 1},
]
TOTAL = re.compile(r"\bTotal\b")  # Does not match "Subtotal".


def get_lines() -> list[tuple[str, int]]:
    return list(LineItem.objects.order_by("pk").values_list("title", "current_quantity"))


def test_lines_are_added_removed_and_discounted_by_keyboard_after_a_preview(
    window: BrowserPage, committed_shop: Shop, axe: None
) -> None:
    make_variant(committed_shop, stock=5, sku="CUP-1", product_title="Cup")
    order = make_order(committed_shop, lines=LINES, email="ada@example.com", financial_status="paid")
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
    assert get_lines() == [("Mug", 2), ("Bowl", 1)]
    barriers += window.barriers()
    page.get_by_role("button", name="Save").dblclick()
    page.wait_for_url("**/change/")

    expect(page.get_by_text(f"The items of order {order.name} were changed.")).to_be_visible()
    assert get_lines() == [("Mug", 0), ("Bowl", 1), ("Cup", 2)]
    assert barriers == []


def test_a_changed_quantity_can_be_reverted(window: BrowserPage, committed_shop: Shop) -> None:
    order = make_order(committed_shop, lines=LINES)
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
    assert get_lines() == [("Mug", 2), ("Bowl", 1)]
    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**/change/")

    assert get_lines() == [("Mug", 2), ("Bowl", 1), ("Mug", 1), ("Engraving", 1)]


def test_a_refund_is_calculated_while_typing(window: BrowserPage, committed_shop: Shop, axe: None) -> None:
    sale = {"kind": "sale", "amount": Decimal("20.00")}
    order = make_order(committed_shop, transactions=[sale], email="ada@example.com")

    page = window.go("orders_order_change", order.pk)
    page.get_by_role("link", name="Refund…").press("Enter")
    page.get_by_label("Quantity of Mug").fill("1")
    amount = page.get_by_label("Amount in USD")
    expect(amount).to_have_attribute("placeholder", "10.00")
    amount.fill("7.50")
    expect(page.get_by_text("2.50 USD less than the refund total.")).to_be_visible()
    summary = page.get_by_role("region", name=f"Order {order.name}")
    expect(summary.get_by_text("12.50 USD")).to_be_in_viewport()
    page.get_by_role("button", name="Review refund of 7.50 USD").press("Enter")
    expect(page.get_by_text("7.50 USD of the 20.00 USD payment will be marked")).to_be_visible()
    barriers = window.barriers()
    page.get_by_role("button", name="Refund 7.50 USD").dblclick()
    page.wait_for_url("**/change/")

    expect(page.get_by_role("heading", name="Refunds")).to_be_visible()
    refund = Refund.objects.get()
    assert get_transaction(refund).amount == Decimal("7.50")
    assert barriers == []


def test_a_duty_is_chosen_by_keyboard(window: BrowserPage, committed_shop: Shop, axe: None) -> None:
    tax = {"title": "VAT", "rate": Decimal(0), "price": Decimal("1.00")}
    duty = {"shop_money": {"amount": Decimal("6.00")}, "tax_lines": [tax], "country_code_of_origin": "PT"}
    line = {"title": "Mug", "price": Decimal("10.00"), "quantity": 2, "duties": [duty]}
    order = make_order(committed_shop, lines=[line], financial_status="paid")

    page = window.go("refunds_refund_new", order.pk)
    page.get_by_label("Quantity of Mug").fill("1")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    choice = page.get_by_label("Refund for the duty on Mug (from Portugal)")
    expect(choice).to_be_focused()
    page.keyboard.press("ArrowDown")
    amount = page.get_by_label("Amount in USD")
    expect(amount).to_have_attribute("placeholder", "13.50")
    form = window.barriers()
    page.set_viewport_size({"width": 390, "height": 844})
    narrow = window.barriers()
    page.get_by_role("button", name="Review").press("Enter")
    expect(page.get_by_text("3.50 USD of the duty on Mug (from Portugal), including 0.50 USD tax")).to_be_visible()
    look = window.barriers()

    assert (form, narrow, look) == ([], [], [])


def test_a_double_click_asks_a_silent_gateway_once(window: BrowserPage, committed_shop: Shop) -> None:
    order = create_bogus_order(committed_shop, behavior="bogus:later")
    refund = refund_amount(order, "20.00")
    run_refund_jobs(committed_shop)
    waiting = Job.objects.filter(task="refunds.process_payment", state="waiting")
    assert waiting.count() == 1  # This job will check the refund again later.

    page = window.go("orders_order_change", order.pk)
    page.get_by_role("button", name="Check status with bogus").dblclick()
    expect(page.get_by_text("Checking the refund with bogus.")).to_be_visible()
    page.wait_for_load_state("networkidle")

    assert waiting.count() == 2
    run_refund_jobs(committed_shop)
    page.reload()
    expect(page.get_by_text("Refunded").first).to_be_visible()
    assert get_transaction(refund).status == "success"
    assert Transaction.objects.filter(kind="refund").count() == 1
    assert is_money_consistent()
