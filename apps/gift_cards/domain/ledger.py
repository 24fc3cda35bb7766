"""Change the balance of a gift card and add a row to its ledger. No other code writes balances."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from apps.core.events.recording import apply_changes, record_event
from apps.core.exceptions import DomainError
from apps.core.i18n.messages import Amount, MessageTemplate, define_message, define_text
from apps.core.money import MAX_AMOUNT, format_decimal
from apps.core.tenancy.actor_names import get_actor_id
from apps.gift_cards.models import GiftCard, GiftCardAdjustment

ADJUSTED = "gift_cards/adjust"
_TOO_LOW = define_message("gift_cards.too_low", "is more than the balance of {balance}")
_TOO_HIGH = define_text("gift_cards.too_high", "makes the balance too large")


class AdjustmentRefused(DomainError):
    """Raised when the balance of a gift card cannot be adjusted."""

    field = "amount"


def change_balance(
    card: GiftCard,
    amount: Decimal,
    template: MessageTemplate,
    *,
    actor: str,
    at: datetime,
    order: str | None = None,
    **columns: Any,
) -> GiftCardAdjustment:
    """Add an amount, which may be negative, to the balance of a locked card.

    ``template`` is the message of the event, with ``amount``, ``balance`` and, if it is given, ``order``, the name of
    the order. ``columns`` are further columns of the row.

    Raises:
        AdjustmentRefused: The balance would be negative or too large.
    """
    balance = card.balance + amount
    if balance < 0:
        raise AdjustmentRefused(_TOO_LOW(balance=format_balance(card, card.balance)))
    if balance >= MAX_AMOUNT:
        raise AdjustmentRefused(_TOO_HIGH)
    row = GiftCardAdjustment(
        shop_id=card.shop_id,
        card=card,
        number=card.adjustments.count() + 1,
        amount=amount,
        balance=balance,
        created_at=at,
        **{"user_id": get_actor_id(actor, "staff"), **columns},
    )
    row.save(force_insert=True)
    changes = apply_changes(card, {"balance": balance})
    card.save(update_fields=list(changes))
    # Messages with an order say in words whether the amount was added or subtracted.
    displayed = amount if order is None else abs(amount)
    values = {"amount": format_balance(card, displayed), "balance": format_balance(card, balance)}
    message = template(**values) if order is None else template(order=order, **values)
    record_event(ADJUSTED, card, actor=actor, at=at, changes=changes, message=message)
    return row


def format_balance(card: GiftCard, amount: Decimal) -> Amount:
    return Amount(format_decimal(amount, card.currency), card.currency)
