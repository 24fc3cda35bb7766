"""Tests that staff members who pay with the same gift card at the same time never spend it twice."""

from decimal import Decimal
from functools import partial

import pytest
from django.utils import timezone

from apps.core.jobs import consistency_checks
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.gift_cards.domain import code_payments
from apps.gift_cards.models import GiftCardAdjustment
from apps.orders.models import Order, Transaction
from tests.support.databases.races import run_concurrently, run_unguarded, without_constraint
from tests.support.factories.gift_cards import make_gift_card
from tests.support.factories.orders import make_order
from tests.support.factories.refunds import is_money_consistent
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.html_forms import get_form

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_shop")]

CHECKS = {"gift card balances", "gift card payments"}
BY: Attrs = {"actor": "system"}


def enter_code(panel: Panel, order: Order, code: str) -> dict[str, list[str]]:
    """Enter a code on the page that pays an order, and return the form that confirms the amount."""
    page = panel.forge("gift_cards_giftcard_pay", order.pk, step="check", gift_card_code=code)
    return {**get_form(page.content, "gift_card").data, "step": ["pay"]}


@pytest.mark.race(control="test_two_staff_members_spend_a_card_twice_without_the_lock")
def test_two_staff_members_pay_with_the_same_card_once(shop: Shop, admin_client_with: PanelWith) -> None:
    card, orders = make_gift_card("20.00", code="shared2345"), [make_order(shop) for _ in range(4)]
    panels = [admin_client_with("orders", "edit_orders") for _ in orders]
    forms = [enter_code(panel, order, "shared2345") for panel, order in zip(panels, orders, strict=True)]
    paths = [panel.url("gift_cards_giftcard_pay", order.pk) for panel, order in zip(panels, orders, strict=True)]

    outcomes = run_concurrently(
        shop,
        *[partial(panel.http.post, path, form) for panel, path, form in zip(panels, paths, forms, strict=True)],
    )

    assert sorted(response.status_code for response in outcomes) == [200, 200, 200, 302]
    card.refresh_from_db()
    assert (card.balance, Transaction.objects.count()) == (Decimal(0), 1)
    for response in outcomes:
        if response.status_code == 200:
            payment = response.context["payment"]
            assert [*payment.code_errors, *payment.errors]
    assert list(consistency_checks.find_differences(CHECKS)) == []
    assert is_money_consistent()


def test_two_staff_members_spend_a_card_twice_without_the_lock(shop: Shop) -> None:
    """Show what goes wrong without the lock and the unique number: both confirmed amounts are paid."""
    card, first, second = make_gift_card("20.00"), make_order(shop), make_order(shop)

    def confirm(order: Order) -> Transaction:
        return code_payments.pay_order(order, card, Decimal("20.00"), at=timezone.now(), **BY)

    with without_constraint(GiftCardAdjustment, "card_id", "number"):
        run_unguarded(shop, partial(confirm, first), partial(confirm, second), locks={"gift_cards_giftcard"})

        assert sum(card.adjustments.filter(kind="redemption").values_list("amount", flat=True)) == -40
