"""Create gift cards with balances from another system, and change them when they change there."""

from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import Sum

from apps.core.money import ZERO
from apps.core.types import ReadOnlyAttrs
from apps.gift_cards.domain.gift_cards import (
    adjust_balance,
    create_card_without_code,
    create_gift_card,
    disable_gift_card,
    update_gift_card,
)
from apps.gift_cards.models import GiftCard, GiftCardAdjustment

# The note of the adjustment from the initial value to the balance. The word is the same in all languages.
NOTE = "Import"


@transaction.atomic
def restore_gift_card(
    attrs: ReadOnlyAttrs, *, balance: Decimal, is_disabled: bool, actor: str, at: datetime
) -> GiftCard:
    """Create a card like ``create_gift_card``, adjust its balance and perhaps disable it. The code is required."""
    card, _code = create_gift_card(attrs, app=None, actor=actor, at=at)
    if balance != card.balance:
        values = {"amount": balance - card.balance, "note": NOTE}
        card = adjust_balance(card, values, app=None, actor=actor, at=at).card
    if is_disabled:
        disable_gift_card(card, actor=actor, at=at)
    return card


@transaction.atomic
def restore_card_without_code(
    attrs: ReadOnlyAttrs, last_characters: str, *, balance: Decimal, is_disabled: bool, actor: str, at: datetime
) -> GiftCard:
    """Create a card like ``create_card_without_code``, adjust its balance and perhaps disable it."""
    card = create_card_without_code(attrs, last_characters, actor=actor, at=at)
    update_restored_card(card, {}, balance=balance, is_disabled=is_disabled, actor=actor, at=at)
    return card


@transaction.atomic
def update_restored_card(
    card: GiftCard, attrs: ReadOnlyAttrs, *, balance: Decimal, is_disabled: bool, actor: str, at: datetime
) -> None:
    """Update a card that changed in the other system. ``attrs`` are as in ``update_gift_card``.

    The balance changes by as much as there, so what was paid with the card in this shop remains paid.

    Raises:
        AdjustmentRefused: The card is disabled, or the balance would be negative.
    """
    update_gift_card(card, attrs, actor=actor, at=at, allows_past=True)
    # The adjustments of staff and apps name the user or the app.
    imported = card.adjustments.filter(kind=GiftCardAdjustment.Kind.ADJUSTMENT, user_id=None, app=None)
    difference = balance - (imported.aggregate(total=Sum("amount"))["total"] or ZERO)
    if difference:
        adjust_balance(card, {"amount": difference, "note": NOTE}, app=None, actor=actor, at=at)
    if is_disabled:
        disable_gift_card(card, actor=actor, at=at)
