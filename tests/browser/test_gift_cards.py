"""Issue, adjust and disable a gift card in a browser."""

import re
from decimal import Decimal

import pytest
from playwright.sync_api import expect

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.gift_cards.domain import codes
from apps.gift_cards.models import GiftCard
from apps.orders.models import Order
from tests.support.browser.pages import BrowserPage
from tests.support.factories.gift_cards import make_gift_card
from tests.support.factories.orders import make_order

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_card_is_issued_shown_once_adjusted_and_disabled(window: BrowserPage, committed_shop: Shop) -> None:
    page = window.go("gift_cards_giftcard_changelist")
    page.get_by_role("link", name="Issue gift card").last.click()
    page.get_by_label("Value (USD)").fill("50")
    page.get_by_role("button", name="Issue gift card").click()
    expect(page.get_by_text("Copy or print the code now.")).to_be_visible()
    code = page.get_by_label("Code", exact=True).input_value()
    page.get_by_role("link", name="I have saved the code").click()
    page.wait_for_url(re.compile("/change/"))

    with shop_scope(committed_shop):
        card = GiftCard.objects.get()
    assert card.code_digest == codes.calculate_digest(codes.normalize_code(code))
    assert code not in page.content()

    page.get_by_role("link", name="Adjust balance…").click()
    page.get_by_label("Amount (USD)").fill("12.50")
    page.get_by_label("Reason").fill("Paid in the shop")
    page.get_by_role("button", name="Adjust balance").click()
    expect(page.get_by_text("The balance is now 37.50 USD.")).to_be_visible()
    expect(page.get_by_role("cell", name="Paid in the shop")).to_be_visible()

    page.get_by_role("link", name="Disable…").click()
    page.get_by_role("button", name="Disable gift card").click()
    expect(page.get_by_text("The gift card was disabled.")).to_be_visible()
    expect(page.get_by_role("link", name="Adjust balance…")).to_have_count(0)
    with shop_scope(committed_shop):
        card.refresh_from_db()
    assert (card.balance, card.disabled_at is not None) == (Decimal("37.50"), True)
    assert window.problems == []


def test_an_order_is_paid_by_code(window: BrowserPage, committed_shop: Shop, axe: None) -> None:
    with shop_scope(committed_shop):
        order, card = make_order(committed_shop), make_gift_card("15.00", code="browser2345")
    page = window.go("orders_order_change", order.pk)
    page.locator("summary").get_by_text("More").first.click()
    page.get_by_role("link", name="Pay with gift card…").click()

    page.get_by_label("Gift card code").fill("wrong23456")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No gift card of this shop has this code.")).to_be_visible()
    assert window.barriers() == []
    page.get_by_label("Gift card code").fill("BROW-SER2-345")
    page.keyboard.press("Enter")
    expect(page.get_by_text("•••• 2345")).to_be_visible()
    assert window.barriers() == []
    page.get_by_role("button", name="Pay 15.00 USD").click()

    expect(page.get_by_text("15.00 USD was paid with the gift card •••• 2345.")).to_be_visible()
    with shop_scope(committed_shop):
        card.refresh_from_db()
        assert (card.balance, order.transactions.get().gateway) == (Decimal(0), "gift_card")
    assert window.problems == []


def test_a_new_order_is_paid_by_code_with_the_keyboard(window: BrowserPage, committed_shop: Shop, axe: None) -> None:
    with shop_scope(committed_shop):
        card = make_gift_card("15.00", code="browser2345")
    page = window.go("draft_orders_draftorder_add")
    page.get_by_role("button", name="Add custom item").click()
    page.get_by_label("Title").fill("Vase")
    page.get_by_label("Price per item").fill("40")
    page.locator("summary", has_text="Pay with gift card").press("Enter")
    field = page.get_by_label("Gift card code")
    field.fill("wrong23456")
    field.press("Enter")
    expect(page.get_by_text("No gift card of this shop has this code.")).to_be_visible()
    expect(field).to_be_focused()
    page.keyboard.type("browser2345")
    page.keyboard.press("Enter")
    totals = page.locator("#draft-totals")
    expect(page.locator("#entered-gift-card")).to_be_focused()
    expect(totals.get_by_text("25.00 USD")).to_be_visible()
    assert window.barriers() == []
    page.get_by_role("radio", name="Payment due later").check()
    page.get_by_role("button", name="Create order").click()
    page.wait_for_url("**/orders/order/**")

    with shop_scope(committed_shop):
        card.refresh_from_db()
        assert (card.balance, Order.objects.get().financial_status) == (Decimal(0), "partially_paid")
    assert window.problems == []
