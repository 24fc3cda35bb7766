"""Create, update, disable and adjust gift cards, and set the codes of cards from another system.

Each change to a balance adds a row to the ledger in the same transaction (``ledger.change_balance``). The card is
locked.
"""

from datetime import date, datetime
from decimal import Decimal

from django.db import transaction

from apps.core.db.row_locks import refresh_for_update
from apps.core.events.recording import apply_changes, record_event
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import BLANK, INVALID, MUST_EXIST, TAKEN
from apps.core.i18n.messages import define_message, define_text
from apps.core.money import MAX_AMOUNT, ZERO, has_valid_precision
from apps.core.tenancy.actor_names import get_actor_id
from apps.core.tenancy.models import App
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.customers.models import Customer
from apps.gift_cards.domain import codes
from apps.gift_cards.domain.ledger import AdjustmentRefused, change_balance
from apps.gift_cards.domain.states import get_day
from apps.gift_cards.models import GiftCard, GiftCardAdjustment

CREATED = "gift_cards/create"
UPDATED = "gift_cards/update"
DISABLED = "gift_cards/disable"
CODE_SET = "gift_cards/set_code"
_CODE_FORMAT = define_text("gift_cards.code_format", "must have 8 to 20 letters and digits")
_NOT_POSITIVE = define_text("gift_cards.not_positive", "must be greater than 0")
_NOT_ZERO = define_text("gift_cards.not_zero", "must not be 0")
_PAST = define_text("gift_cards.past", "must not be in the past")
_CUSTOMER_FIXED = define_text("gift_cards.customer_fixed", "cannot be changed once it is set")
_IS_DISABLED = define_text("gift_cards.is_disabled", "The gift card is disabled, so its balance cannot be changed")
_HAS_CODE = define_text("gift_cards.has_code", "is already set")
_OTHER_CODE = define_message("gift_cards.other_code", "must end with {characters}")
_ADJUSTED = define_message("gift_cards.adjusted", "Balance changed by {amount} to {balance}")


class GiftCardRefused(DomainError):
    """Raised when the values of a gift card are invalid."""


@transaction.atomic
def create_gift_card(attrs: ReadOnlyAttrs, *, app: App | None, actor: str, at: datetime) -> tuple[GiftCard, str]:
    """Create a card and return it with its code, which cannot be read again.

    ``attrs`` has ``initial_value``, and optionally ``code``, ``customer_id``, ``expires_on``, ``note``,
    ``template_suffix``, and ``recipient_id``, ``message`` and ``send_at`` for the email (see ``delivery``).
    """
    code = codes.normalize_code(attrs.get("code") or "") or codes.generate_code()
    columns = {
        **_get_code_columns(code),
        **_get_columns(None, attrs, at=at),
        "recipient_id": attrs.get("recipient_id"),
        "message": attrs.get("message") or "",
        "send_at": attrs.get("send_at"),
    }
    return _save_card(attrs.get("initial_value"), columns, app=app, actor=actor, at=at), code


@transaction.atomic
def create_card_without_code(attrs: ReadOnlyAttrs, last_characters: str, *, actor: str, at: datetime) -> GiftCard:
    """Create a card of another system that does not reveal the code. It may have expired.

    Payments with the code are not possible until ``set_code``. ``attrs`` are as in ``create_gift_card``.
    """
    columns = {**_get_columns(None, attrs, at=at, allows_past=True), "last_characters": last_characters}
    return _save_card(attrs.get("initial_value"), columns, app=None, actor=actor, at=at)


@transaction.atomic
def set_code(card: GiftCard, code: str, *, actor: str, at: datetime) -> str:
    """Set the code of a card that has none, and return it. A blank code means a new one.

    Raises:
        GiftCardRefused: The code does not end with the known characters, or another card has it.
    """
    refresh_for_update(card, no_key=True)
    if card.code_digest is not None:
        raise GiftCardRefused(_HAS_CODE, field="code")
    text = codes.normalize_code(code)
    if text and not text.endswith(card.last_characters):
        raise GiftCardRefused(_OTHER_CODE(characters=card.last_characters), field="code")
    text = text or codes.generate_code()
    columns = _get_code_columns(text)
    changes = apply_changes(card, columns)
    card.save(update_fields=list(changes))
    changes.pop("code_digest")
    record_event(CODE_SET, card, actor=actor, at=at, changes=changes)
    return text


def _get_code_columns(code: str) -> Attrs:
    """Return the columns for a normalized code, if it is valid and no card of the shop has it."""
    if not codes.is_valid_code(code):
        raise GiftCardRefused(_CODE_FORMAT, field="code")
    digests = codes.calculate_digests(code)
    if GiftCard.objects.filter(code_digest__in=digests).exists():
        raise GiftCardRefused(TAKEN, field="code")
    return {"code_digest": digests[0], "last_characters": code[-codes.LAST_CHARACTERS :]}


def _save_card(initial_value: Decimal | None, columns: Attrs, *, app: App | None, actor: str, at: datetime) -> GiftCard:
    """Save a new card with the first row of its ledger, and record the event."""
    shop = get_current_shop()
    value = _check_value(initial_value, shop.currency)
    made_by: Attrs = {"app": app, "user_id": get_actor_id(actor, "staff"), "created_at": at}
    card = GiftCard(shop=shop, initial_value=value, balance=value, currency=shop.currency, **made_by, **columns)
    card.save()
    GiftCardAdjustment.objects.create(
        shop=shop, card=card, number=1, amount=value, balance=value, processed_at=at, **made_by
    )
    record_event(CREATED, card, actor=actor, at=at)
    return card


@transaction.atomic
def update_gift_card(
    card: GiftCard, attrs: ReadOnlyAttrs, *, actor: str, at: datetime, allows_past: bool = False
) -> None:
    """Change the expiry date, note or template of a card, or set its customer.

    ``allows_past`` allows an expiry date in the past.
    """
    refresh_for_update(card, no_key=True)
    columns = _get_columns(card, attrs, at=at, allows_past=allows_past)
    if changes := apply_changes(card, columns, personal=GiftCard.personal_fields):
        card.save(update_fields=list(changes))
        record_event(UPDATED, card, actor=actor, at=at, changes=changes)


@transaction.atomic
def disable_gift_card(card: GiftCard, *, actor: str, at: datetime) -> None:
    """Disable a card for good. A disabled card keeps its time and its balance."""
    refresh_for_update(card, no_key=True)
    if card.disabled_at is None:
        changes = apply_changes(card, {"disabled_at": at})
        card.save(update_fields=list(changes))
        record_event(DISABLED, card, actor=actor, at=at, changes=changes)


@transaction.atomic
def adjust_balance(
    card: GiftCard, attrs: ReadOnlyAttrs, *, app: App | None, actor: str, at: datetime
) -> GiftCardAdjustment:
    """Add an amount to the balance of a card, or subtract a negative amount.

    ``attrs`` has ``amount``, and optionally ``note``, ``processed_at``, ``remote_transaction_ref`` and
    ``remote_transaction_url``. Adjustments correct balances, so the expiry date does not matter.

    Raises:
        AdjustmentRefused: The card is disabled, or the balance would be negative or too large.
    """
    refresh_for_update(card, no_key=True)
    if card.disabled_at is not None:
        raise AdjustmentRefused(_IS_DISABLED, field="base")
    amount: Decimal | None = attrs.get("amount")
    if amount is None:
        raise AdjustmentRefused(BLANK)
    if not has_valid_precision(amount, card.currency):
        raise AdjustmentRefused(INVALID)
    if not amount:
        raise AdjustmentRefused(_NOT_ZERO)
    columns = {name: value for name, value in attrs.items() if name != "amount" and value is not None}
    return change_balance(card, amount, _ADJUSTED, actor=actor, at=at, app=app, **{"processed_at": at, **columns})


def _check_value(value: Decimal | None, currency: str) -> Decimal:
    if value is None:
        raise GiftCardRefused(BLANK, field="initial_value")
    if value <= ZERO:
        raise GiftCardRefused(_NOT_POSITIVE, field="initial_value")
    if value >= MAX_AMOUNT or not has_valid_precision(value, currency):
        raise GiftCardRefused(INVALID, field="initial_value")
    return value


def _get_columns(card: GiftCard | None, attrs: ReadOnlyAttrs, *, at: datetime, allows_past: bool = False) -> Attrs:
    """Return the validated columns in ``attrs`` that staff and apps can change. ``card`` is None for a new card."""
    columns = {name: attrs[name] or "" for name in ("note", "template_suffix") if name in attrs}
    if "expires_on" in attrs:
        if not allows_past:
            _check_expiry(card, attrs["expires_on"], at=at)
        columns["expires_on"] = attrs["expires_on"]
    if "customer_id" in attrs and (card is None or attrs["customer_id"] != card.customer_id):
        if card is not None and card.customer_id is not None:
            raise GiftCardRefused(_CUSTOMER_FIXED, field="customer_id")
        if attrs["customer_id"] is not None and not Customer.objects.filter(pk=attrs["customer_id"]).exists():
            raise GiftCardRefused(MUST_EXIST, field="customer_id")
        columns["customer_id"] = attrs["customer_id"]
    return columns


def _check_expiry(card: GiftCard | None, day: date | None, *, at: datetime) -> None:
    """Refuse a new date in the past. A card is valid until the end of the day in the shop's time zone."""
    if card is not None and day == card.expires_on:
        return
    if day is not None and day < get_day(at):
        raise GiftCardRefused(_PAST, field="expires_on")
