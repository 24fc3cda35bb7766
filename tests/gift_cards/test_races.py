"""Tests that concurrent payments and refunds never move the money of a gift card twice."""

from decimal import Decimal
from functools import partial

import pytest
from django.db import IntegrityError
from django.utils import timezone

from apps.core.jobs import consistency_checks
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.gift_cards.domain.gateway import GiftCardGateway
from apps.gift_cards.domain.ledger import AdjustmentRefused
from apps.gift_cards.models import GiftCard, GiftCardAdjustment
from apps.orders.domain import payments, transitions
from apps.orders.domain.create.restored import OrderRefused
from apps.orders.models import Order, Transaction
from apps.refunds.domain.gateways import GatewayCall, GatewayResult
from tests.support.databases.races import run_concurrently, run_unguarded, without_constraint
from tests.support.factories.gift_cards import make_gift_card
from tests.support.factories.orders import make_order
from tests.support.factories.refunds import is_money_consistent, refund_amount, run_refund_jobs

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_shop")]

CHECKS = {"gift card balances", "gift card payments"}
BY: Attrs = {"actor": "system"}


def build_payment(card: GiftCard, amount: str, kind: str = "sale") -> Attrs:
    return {"kind": kind, "gateway": "gift_card", "receipt": {"gift_card_id": card.pk}, "amount": Decimal(amount)}


def pay(order: Order, card: GiftCard, amount: str) -> Transaction:
    return payments.create_transaction(order, build_payment(card, amount), at=timezone.now(), **BY)


@pytest.mark.race(control="test_a_card_pays_twice_without_the_lock")
def test_concurrent_payments_spend_exactly_the_balance(shop: Shop) -> None:
    card = make_gift_card("50.00")
    orders = [make_order(shop) for _ in range(6)]

    later = [partial(pay, order, card, "10.00") for order in orders]
    new = [partial(make_order, shop, transactions=[build_payment(card, "10.00")])] * 6
    outcomes = run_concurrently(shop, *later, *new)

    refused = [outcome for outcome in outcomes if isinstance(outcome, AdjustmentRefused | OrderRefused)]
    card.refresh_from_db()
    assert (len(refused), Transaction.objects.count()) == (7, 5)
    assert card.balance == 0
    assert [row.amount for row in card.adjustments.filter(kind="redemption")] == [-10] * 5
    assert list(consistency_checks.find_differences(CHECKS)) == []
    assert is_money_consistent()


def test_a_card_pays_twice_without_the_lock(shop: Shop) -> None:
    """Show what goes wrong without the lock and the unique number: both payments see the full balance."""
    card = make_gift_card("20.00")
    first, second = make_order(shop), make_order(shop)

    with without_constraint(GiftCardAdjustment, "card_id", "number"):
        run_unguarded(
            shop, partial(pay, first, card, "15.00"), partial(pay, second, card, "15.00"), locks={"gift_cards_giftcard"}
        )

        spent = card.adjustments.filter(kind="redemption").values_list("amount", flat=True)
        assert sum(spent) == -30


@pytest.mark.race(no_guard="there is nothing to wait for in a circle, because cards are locked in ascending order")
def test_payments_with_the_same_cards_do_not_deadlock(shop: Shop) -> None:
    cards = [make_gift_card("100.00") for _ in range(2)]
    forth = [build_payment(card, "5.00", "authorization") for card in cards]
    orders = [make_order(shop, transactions=rows) for rows in (forth, forth[::-1]) for _ in range(3)]

    def cancel(order: Order) -> Order:
        return transitions.cancel_order(order, at=timezone.now(), **BY)

    new = [partial(make_order, shop, transactions=rows) for rows in (forth, forth[::-1]) for _ in range(3)]
    outcomes = run_concurrently(shop, *[partial(cancel, order) for order in orders], *new)

    assert all(isinstance(outcome, Order) for outcome in outcomes)
    assert list(GiftCard.objects.order_by("pk").values_list("balance", flat=True)) == [70, 70]
    assert list(consistency_checks.find_differences(CHECKS)) == []


def create_refund_call(shop: Shop, card: GiftCard) -> GatewayCall:
    order = make_order(shop, transactions=[build_payment(card, "20.00")])
    refund_amount(order, "15.00")
    row = Transaction.objects.get(kind="refund")
    return GatewayCall(str(row.refund_payment.key), row.amount, "USD", "", test=False, order_name=order.name)


@pytest.mark.race(control="test_a_constraint_stops_a_second_refund_without_the_lock")
def test_concurrent_calls_refund_once(shop: Shop) -> None:
    card = make_gift_card("20.00")
    call = create_refund_call(shop, card)

    results = run_concurrently(shop, *[partial(GiftCardGateway().refund, call)] * 5)

    assert {result.status for result in results if isinstance(result, GatewayResult)} == {"success"}
    assert len({result.reference for result in results}) == 1
    card.refresh_from_db()
    assert card.balance == 15
    assert card.adjustments.filter(kind="refund").count() == 1
    run_refund_jobs(shop)
    assert is_money_consistent()


def test_a_constraint_stops_a_second_refund_without_the_lock(shop: Shop) -> None:
    """Show what goes wrong without the lock: the second call does not see the first refund."""
    refund = partial(GiftCardGateway().refund, create_refund_call(shop, make_gift_card("20.00")))

    with without_constraint(GiftCardAdjustment, "card_id", "number"), pytest.raises(IntegrityError, match="once_per"):
        run_unguarded(shop, refund, refund, locks={"gift_cards_giftcard"})
