"""Pay orders with gift cards: redeem cards for sales and authorizations, and return released amounts.

A transaction with the gateway ``gift_card`` redeems the card in its receipt (``{"gift_card_id": 1}``). Without a card
in the receipt, and in imported orders, it is only a record. Only a row in the ledger proves that a transaction redeemed
a card, because receipts can come from other systems.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from enum import Enum, auto

from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import INVALID, MUST_EXIST
from apps.core.i18n.messages import define_message, define_text
from apps.core.tenancy.actor_names import get_actor_id
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.gift_cards.domain.ledger import change_balance
from apps.gift_cards.domain.states import get_day
from apps.gift_cards.models import GiftCard, GiftCardAdjustment
from apps.orders.models import Transaction

GIFT_CARD = "gift_card"
CARD_MEMBER = "gift_card_id"
_CODE_MEMBER = "gift_card_code"
_MAX_ID = 2**63 - 1
_SCOPE = "write_gift_cards"
_REDEEMED = define_message("gift_cards.redeemed", "Paid {amount} for order {order}, new balance {balance}")
_RELEASED = define_message("gift_cards.released", "Released {amount} of order {order}, new balance {balance}")
_NO_CODES = define_message(
    "gift_cards.no_codes", "must not be in the receipt, which is stored. Send {member}, the ID of the gift card"
)
_IS_DISABLED = define_text("gift_cards.pays_disabled", "is the ID of a disabled gift card")
_IS_EXPIRED = define_message("gift_cards.pays_expired", "is the ID of a gift card that expired on {day}")
_CURRENCY = define_message("gift_cards.pays_currency", "is the ID of a gift card in {currency}")
_OTHER_CARD = define_text("gift_cards.pays_other", "is not the gift card of the authorization")

Kind = Transaction.Kind
RowKind = GiftCardAdjustment.Kind
_REDEEMING_KINDS = frozenset({Kind.SALE, Kind.AUTHORIZATION})


class GiftCardPaymentRefused(DomainError):
    """Raised when a gift card cannot pay a transaction."""

    field = f"receipt.{CARD_MEMBER}"


class GiftCardPayments:
    """The payment hook of ``apps.orders`` for the gateway ``gift_card``."""

    def get_required_scope(self, attrs: ReadOnlyAttrs, /) -> str | None:
        """Return the scope for transactions that name a card. Ids can be guessed, so they prove no right to pay."""
        receipt = attrs.get("receipt")
        names_card = isinstance(receipt, Mapping) and receipt.get(CARD_MEMBER) not in (None, "")
        return _SCOPE if names_card else None

    def lock(self, transactions: Sequence[Transaction], /) -> None:
        """Lock the cards in the receipts, and the cards of authorizations among the transactions or their parents.

        Cards are locked in ascending order of their ids.
        """
        ids = set(_get_named_cards(transactions))
        if roots := {(row.parent or row).pk for row in transactions} - {None}:
            redemptions = GiftCardAdjustment.objects.filter(transaction__in=roots, kind=RowKind.REDEMPTION)
            ids |= set(redemptions.values_list("card_id", flat=True))
        if ids:
            list(GiftCard.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("pk").values_list("pk"))

    def pay(self, transaction: Transaction, /, *, actor: str, at: datetime) -> None:
        """Redeem the card that a sale or an authorization names. A capture can only name the card that it captures.

        Raises:
            GiftCardPaymentRefused: The card cannot be used.
            AdjustmentRefused: The balance of the card is too low.
        """
        card_id = _get_card_id(transaction)
        if card_id is None or not _moves_money(transaction):
            return
        if transaction.kind not in _REDEEMING_KINDS:
            redemption = find_redemption(transaction)
            if redemption is None or redemption.card_id != card_id:
                raise GiftCardPaymentRefused(_OTHER_CARD)
            return
        card = GiftCard.objects.select_for_update(no_key=True).filter(pk=card_id).first()
        if card is None:
            raise GiftCardPaymentRefused(MUST_EXIST)
        _check_card(card, transaction.currency, at=at)
        change_balance(
            card,
            -transaction.amount,
            _REDEEMED,
            actor=actor,
            at=at,
            order=transaction.order.name,
            app_id=get_actor_id(actor, "app"),
            kind=RowKind.REDEMPTION,
            transaction=transaction,
            note=transaction.order.name,
            processed_at=transaction.processed_at,
        )

    def release(
        self, authorization: Transaction, amount: Decimal, /, *, transaction: Transaction, actor: str, at: datetime
    ) -> None:
        """Return an amount to the card of an authorization, even if the card was disabled or expired since."""
        redemption = find_redemption(authorization)
        if redemption is None or not amount:
            return
        card = GiftCard.objects.select_for_update(no_key=True).get(pk=redemption.card_id)
        change_balance(
            card,
            amount,
            _RELEASED,
            actor=actor,
            at=at,
            order=transaction.order.name,
            kind=RowKind.RELEASE,
            transaction=transaction,
            note=transaction.order.name,
            processed_at=at,
        )


def find_redemption(payment: Transaction) -> GiftCardAdjustment | None:
    """Return the ledger row of a sale, of an authorization, or of the authorization of a capture."""
    rows = GiftCardAdjustment.objects.filter(transaction=payment.parent_id or payment.pk, kind=RowKind.REDEMPTION)
    return rows.first()


def build_payment(card: GiftCard, amount: Decimal) -> Attrs:
    """Return the values of a transaction that pays an amount in the currency of the card."""
    receipt = {CARD_MEMBER: card.pk, "gift_card_last_characters": card.last_characters}
    return {
        "kind": Kind.SALE,
        "gateway": GIFT_CARD,
        "amount": amount,
        "currency": card.currency,
        "receipt": receipt,
    }


def is_expired(card: GiftCard, *, at: datetime) -> bool:
    """Return True after the end of the card's last day in the shop's time zone."""
    return card.expires_on is not None and card.expires_on < get_day(at)


class Obstacle(Enum):
    """Why a card cannot pay, regardless of its balance."""

    DISABLED = auto()
    EXPIRED = auto()
    CURRENCY = auto()


def find_obstacle(card: GiftCard, currency: str, *, at: datetime) -> Obstacle | None:
    if card.disabled_at is not None:
        return Obstacle.DISABLED
    if is_expired(card, at=at):
        return Obstacle.EXPIRED
    return Obstacle.CURRENCY if card.currency != currency else None


def _check_card(card: GiftCard, currency: str, *, at: datetime) -> None:
    obstacle = find_obstacle(card, currency, at=at)
    if obstacle is not None:
        day = card.expires_on.isoformat() if card.expires_on else ""
        texts = {
            Obstacle.DISABLED: _IS_DISABLED,
            Obstacle.EXPIRED: _IS_EXPIRED(day=day),
            Obstacle.CURRENCY: _CURRENCY(currency=card.currency),
        }
        raise GiftCardPaymentRefused(texts[obstacle])


def _moves_money(row: Transaction) -> bool:
    """Return True for a successful transaction that is neither a test nor free of charge."""
    return row.status == Transaction.Status.SUCCESS and not row.test and bool(row.amount)


def _get_named_cards(rows: Sequence[Transaction]) -> Iterator[int]:
    """Yield the ids of the cards in the receipts. Invalid receipts are refused later, by ``pay``."""
    for row in rows:
        with suppress(GiftCardPaymentRefused):
            if (card_id := _get_card_id(row)) is not None:
                yield card_id


def _get_card_id(row: Transaction) -> int | None:
    """Return the id of the card in a receipt, or None if another gateway is used or the receipt names no card.

    Raises:
        GiftCardPaymentRefused: The value is not an id, or the receipt contains the code of a card.
    """
    receipt: object = row.receipt
    if row.gateway != GIFT_CARD or not isinstance(receipt, Mapping):
        return None
    if receipt.get(_CODE_MEMBER):
        raise GiftCardPaymentRefused(_NO_CODES(member=CARD_MEMBER), field=f"receipt.{_CODE_MEMBER}")
    value = receipt.get(CARD_MEMBER)
    if value is None or value == "":
        return None
    text = str(value)
    is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(_MAX_ID))
    if not is_number or int(text) > _MAX_ID:
        raise GiftCardPaymentRefused(INVALID)
    return int(text)
