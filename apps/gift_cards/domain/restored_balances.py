"""Create gift cards with codes and balances from another system."""

from datetime import datetime
from decimal import Decimal

from django.db import transaction

from apps.core.types import ReadOnlyAttrs
from apps.gift_cards.domain.gift_cards import adjust_balance, create_gift_card, disable_gift_card
from apps.gift_cards.models import GiftCard

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
