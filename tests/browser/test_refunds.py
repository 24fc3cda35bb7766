"""Tests for refunds in the panel: keyboard use, live calculation, review, double submission."""

from decimal import Decimal

import pytest
from playwright.sync_api import expect

from apps.ground.tenancy import shop_scope
from apps.jobs.models import Job
from apps.orders.models import Transaction
from apps.refunds.models import Refund
from apps.shops.models import Shop
from apps.staff.models import User
from tests.browser.conftest import Open
from tests.orders.factories import make_order
from tests.refunds.factories import (
    create_bogus_order,
    get_transaction,
    is_money_consistent,
    refund_amount,
    run_refund_jobs,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_refund_is_calculated_while_typing_and_created_once(
    logged_in_page: Open, committed_shop: Shop, owner: User, axe: None
) -> None:
    sale = {"kind": "sale", "amount": Decimal("20.00")}
    order = make_order(committed_shop, transactions=[sale], email="ada@example.com")
    window = logged_in_page(owner, committed_shop)

    page = window.go("orders_order_change", order.pk)
    page.get_by_role("link", name="Refund…").press("Enter")
    page.get_by_label("Quantity of Mug").fill("1")
    amount = page.get_by_label("Amount in USD")
    expect(amount).to_have_attribute("placeholder", "10.00")
    amount.fill("7.50")
    expect(page.get_by_text("2.50 USD less than the refund total.")).to_be_visible()
    page.get_by_role("button", name="Review").press("Enter")
    expect(page.get_by_text("7.50 USD of the 20.00 USD payment will be marked")).to_be_visible()
    barriers = window.barriers()
    page.get_by_role("button", name="Refund 7.50 USD").dblclick()
    page.wait_for_url("**/change/")

    expect(page.get_by_role("heading", name="Refunds")).to_be_visible()
    with shop_scope(committed_shop):
        refund = Refund.objects.get()
    assert get_transaction(refund).amount == Decimal("7.50")
    assert barriers == []
    assert window.problems == []


def test_a_duty_is_chosen_by_keyboard_and_worked_out_at_once(
    logged_in_page: Open, committed_shop: Shop, owner: User, axe: None
) -> None:
    tax = {"title": "VAT", "rate": Decimal(0), "price": Decimal("1.00")}
    duty = {"shop_money": {"amount": Decimal("6.00")}, "tax_lines": [tax], "country_code_of_origin": "PT"}
    line = {"title": "Mug", "price": Decimal("10.00"), "quantity": 2, "duties": [duty]}
    order = make_order(committed_shop, lines=[line], financial_status="paid")
    window = logged_in_page(owner, committed_shop)

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
    assert window.problems == []


def test_a_double_click_asks_a_gateway_that_has_not_answered_once(
    logged_in_page: Open, committed_shop: Shop, owner: User
) -> None:
    order = create_bogus_order(committed_shop, behavior="bogus:later")
    refund = refund_amount(order, "20.00")
    run_refund_jobs(committed_shop)
    with shop_scope(committed_shop):
        waiting = Job.objects.filter(task="refunds.payment", state="waiting")
    assert waiting.count() == 1  # This job will check the refund again later.
    window = logged_in_page(owner, committed_shop)

    page = window.go("orders_order_change", order.pk)
    page.get_by_role("button", name="Check status with bogus").dblclick()
    expect(page.get_by_text("Checking the refund with bogus.")).to_be_visible()
    page.wait_for_load_state("networkidle")

    assert waiting.count() == 2
    run_refund_jobs(committed_shop)
    page.reload()
    expect(page.get_by_text("Refunded").first).to_be_visible()
    assert get_transaction(refund).status == "success"
    with shop_scope(committed_shop):
        assert Transaction.objects.filter(kind="refund").count() == 1
    assert is_money_consistent()
    assert window.problems == []
