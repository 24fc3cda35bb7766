"""The payment gateway ``gift_card``, which refunds payments to the gift card that paid.

The ledger of the cards is the gateway's record of refunds: a row per refund transaction.
"""

import uuid
from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from apps.core.db.row_locks import get_for_update
from apps.core.i18n.messages import Message, define_message, define_text
from apps.gift_cards.domain.ledger import AdjustmentRefused, change_balance
from apps.gift_cards.domain.payments import find_redemption, is_expired
from apps.gift_cards.models import GiftCard, GiftCardAdjustment
from apps.orders.models import Transaction
from apps.refunds.domain.gateways import GatewayCall, GatewayMovement, GatewayResult
from apps.refunds.models import RefundPayment

_REFUNDED = define_message("gift_cards.refunded", "Refunded {amount} of order {order}, new balance {balance}")
_RETURNED = define_message("gift_cards.returned", "Refunded to the {card}")
_RETURNED_EXPIRED = define_message(
    "gift_cards.returned_expired", "Refunded to the {card}, which expired on {day}. The customer cannot spend it"
)
_DISABLED = define_message(
    "gift_cards.refund_disabled", "The {card} is disabled. Refund the payment through another gateway, such as manual"
)
_NO_CARD = define_text("gift_cards.refund_no_card", "The payment was not made with a gift card of this shop")
_CARD = define_message("gift_cards.card", "gift card ending in {characters}")

Status = Transaction.Status
RowKind = GiftCardAdjustment.Kind


class GiftCardGateway:
    """Refunds payments to gift cards. Refunds of payments without a card of this shop are only recorded."""

    only_records = False

    def moves_money_of(self, payment: Transaction) -> bool:
        return find_redemption(payment) is not None

    @transaction.atomic
    def refund(self, call: GatewayCall) -> GatewayResult:
        """Add the amount to the card that paid. A call with a known key only returns the result."""
        payment = RefundPayment.objects.select_related("transaction__parent").filter(key=uuid.UUID(call.key)).first()
        parent = None if payment is None else payment.transaction.parent
        redemption = None if parent is None else find_redemption(parent)
        if payment is None or redemption is None:
            return GatewayResult(Status.FAILURE, message=_NO_CARD, error_code="no_gift_card")
        card = get_for_update(GiftCard, redemption.card_id, no_key=True)
        at = timezone.now()
        if (row := _find_refund(call.key)) is not None:
            return _to_result(row, card, at=at)
        if card.disabled_at is not None:
            return GatewayResult(Status.FAILURE, message=_DISABLED(card=_name(card)), error_code="gift_card_disabled")
        try:
            row = change_balance(
                card,
                call.amount,
                _REFUNDED,
                actor="system",
                at=at,
                order=call.order_name,
                kind=RowKind.REFUND,
                transaction=payment.transaction,
                note=call.order_name,
                processed_at=at,
                user_id=payment.transaction.user_id,
            )
        except AdjustmentRefused as error:
            return GatewayResult(Status.FAILURE, message=error.sentence, error_code="gift_card_balance")
        return _to_result(row, card, at=at)

    def find(self, key: str) -> GatewayResult | None:
        row = _find_refund(key)
        return None if row is None else _to_result(row, row.card, at=row.created_at)

    def movements(self, since: datetime) -> Iterable[GatewayMovement]:
        rows = GiftCardAdjustment.objects.filter(
            kind=RowKind.REFUND, created_at__gte=since, transaction__refund_payment__isnull=False
        ).order_by("pk")
        columns = ("transaction__refund_payment__key", "amount", "card__currency")
        for key, amount, currency in rows.values_list(*columns):
            yield GatewayMovement(str(key), amount, currency, Status.SUCCESS)


def _find_refund(key: str) -> GiftCardAdjustment | None:
    rows = GiftCardAdjustment.objects.filter(transaction__refund_payment__key=uuid.UUID(key), kind=RowKind.REFUND)
    return rows.select_related("card").first()


def _to_result(row: GiftCardAdjustment, card: GiftCard, *, at: datetime) -> GatewayResult:
    message = _RETURNED(card=_name(card))
    if card.expires_on is not None and is_expired(card, at=at):
        message = _RETURNED_EXPIRED(card=_name(card), day=card.expires_on.isoformat())
    receipt = {"gift_card_id": card.pk, "gift_card_last_characters": card.last_characters}
    return GatewayResult(Status.SUCCESS, reference=f"gift-card-{row.pk}", message=message, receipt=receipt)


def _name(card: GiftCard) -> Message:
    return _CARD(characters=card.last_characters)
