"""Issue, adjust and disable a gift card in a browser."""

import re
from decimal import Decimal

import pytest
from playwright.sync_api import expect

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.gift_cards.domain import codes
from apps.gift_cards.models import GiftCard
from tests.support.browser.pages import BrowserPage

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_card_is_issued_shown_once_adjusted_and_disabled(window: BrowserPage, committed_shop: Shop) -> None:
    page = window.go("gift_cards_giftcard_changelist")
    page.get_by_role("link", name="Add gift card").last.click()
    page.get_by_label("Value (USD)").fill("50")
    page.get_by_role("button", name="Issue gift card").click()
    expect(page.get_by_text("Copy the code now.")).to_be_visible()
    code = page.get_by_label("Code", exact=True).input_value()
    page.get_by_role("link", name="I have copied the code").click()
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
