"""Factories for gift cards in the current shop."""

from decimal import Decimal
from typing import Any

from django.utils import timezone

from apps.gift_cards.domain import gift_cards
from apps.gift_cards.models import GiftCard, GiftCardAdjustment


def make_gift_card(value: str = "100.00", **attrs: Any) -> GiftCard:
    attrs = {"initial_value": Decimal(value), **attrs}
    return gift_cards.create_gift_card(attrs, app=None, actor="system", at=timezone.now())[0]


def adjust(card_id: int, amount: str = "-1.00", **attrs: Any) -> GiftCardAdjustment:
    card = GiftCard.objects.get(pk=card_id)
    values = {"amount": Decimal(amount), **attrs}
    return gift_cards.adjust_balance(card, values, app=None, actor="system", at=timezone.now())
