"""Export gift cards without their codes, and import the codes and balances of another system.

Imports identify a card by the digest of its code, and never change an existing card, except that they set the code of a
card that was imported without one. Labels, keys and changes of rows
are stored, so they do not contain the code.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy

from apps.core.admin.display.fields import get_field_label
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import BLANK, MUST_EXIST
from apps.core.i18n.messages import define_text
from apps.core.money import format_decimal
from apps.core.rest.resources.fields import BooleanField, ModelDerivedField, TextField
from apps.core.rest.resources.serializers import ResourceSerializer, validate_body
from apps.core.rest.versions import get_latest_version
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.customers.api.fields import BlankAsNullTextField
from apps.customers.domain.lookup import find_all_by_contacts, get_contact_keys
from apps.customers.models import Customer
from apps.gift_cards.domain import codes
from apps.gift_cards.domain.gift_cards import GiftCardRefused, set_code
from apps.gift_cards.domain.restored_balances import restore_gift_card
from apps.gift_cards.models import GiftCard
from apps.imports_exports.domain.csv_reader import format_bool
from apps.imports_exports.domain.flags import parse_flags
from apps.imports_exports.domain.resources import Exporter, Importer, ObjectData, Resource
from apps.imports_exports.domain.rows import (
    Body,
    Cells,
    ImportRow,
    RowOutcome,
    RowResult,
    create_failed_outcome,
    get_text,
)
from apps.imports_exports.resources.cells import convert_api_errors
from apps.orders.api.fields import AmountField

CODE = "gift_card_code"
_LABEL_PREFIX = "gift_card:"
_VALUES = ("initial_value", "balance", "currency", "customer_email", "expires_on", "note", "disabled")
_COMPUTED = ("last_characters", "created_at")
_EXISTS = define_text("gift_card_imports.exists", "already exists. Imports never change existing gift cards")
_OTHER_AMOUNT = define_text(
    "gift_card_imports.other_amount",
    "is the code of a gift card without a code in this shop that ends with the same characters, but has other amounts. "
    "Compare the amounts, or set the code on the page of the gift card",
)
_OTHER_CURRENCY = define_text("gift_card_imports.other_currency", "must be the shop currency")
_LABELS = {
    CODE: gettext_lazy("Gift card code"),
    "customer_email": gettext_lazy("Customer's email address"),
    "disabled": gettext_lazy("Disabled"),
}


class _RowSerializer(ResourceSerializer[GiftCard]):
    code = TextField(max_length=2 * codes.MAX_LENGTH)
    initial_value = AmountField(required=False)
    balance = AmountField(required=False)
    currency = TextField(required=False, allow_null=True, allow_blank=True, max_length=3)
    customer_email = TextField(required=False, allow_null=True, allow_blank=True, max_length=255)
    expires_on = ModelDerivedField()
    note = BlankAsNullTextField(max_length=5000)
    disabled = BooleanField(required=False)


def _read_cards(ids: Sequence[int]) -> list[ObjectData]:
    rows = GiftCard.objects.select_related("customer").in_bulk(ids)
    return [_serialize(rows[pk]) for pk in ids if pk in rows]


def _serialize(card: GiftCard) -> ObjectData:
    return {
        "id": card.pk,
        "last_characters": card.last_characters,
        "initial_value": format_decimal(card.initial_value, card.currency),
        "balance": format_decimal(card.balance, card.currency),
        "currency": card.currency,
        "customer_email": card.customer.email if card.customer else "",
        "expires_on": card.expires_on.isoformat() if card.expires_on else None,
        "note": card.note,
        "disabled": card.disabled_at is not None,
        "created_at": card.created_at.astimezone(get_current_shop().tzinfo).isoformat(timespec="seconds"),
    }


def _get_cells(card: ObjectData) -> Iterable[ObjectData]:
    return [{**card, "disabled": format_bool(card["disabled"])}]


def _parse_row(rows: Sequence[Cells]) -> Body:
    row = rows[0]
    body: dict[str, object] = {
        name: row[name].strip() for name in _VALUES if name != "disabled" and row.get(name, "").strip()
    }
    return {"code": row.get(CODE, "").strip(), **body, **parse_flags(row, {"disabled": "disabled"})}


def _get_keys(row: ImportRow, body: Body) -> Sequence[str]:
    code = codes.normalize_code(get_text(body, "code"))
    return [codes.calculate_digest(code)] if code else [row.digest]


def _import_cards(rows: Sequence[tuple[ImportRow, Body]], *, actor: str, at: datetime, dry: bool) -> list[RowOutcome]:
    """Create the cards with unknown codes. A dry run also saves, to find all errors."""
    existing = _find_existing([body for _row, body in rows])
    contacts = [get_contact_keys(email=body.get("customer_email"), phone="") for _row, body in rows]
    outcomes = []
    for (_row, body), matches in zip(rows, find_all_by_contacts(contacts, locked=False), strict=True):
        try:
            known_id = existing.get(codes.normalize_code(get_text(body, "code")))
            if known_id is None and (card := _find_card_without_code(body)) is not None:
                outcomes.append(_set_code(card, body, actor=actor, at=at))
            elif known_id is None:
                outcomes.append(_import_card(body, matches.by_email, actor=actor, at=at, dry=dry))
            else:
                outcomes.append(RowOutcome(RowResult.SKIPPED, f"{_LABEL_PREFIX}{known_id}", _EXISTS))
        except DomainError as error:
            outcomes.append(create_failed_outcome(error))
    return outcomes


def _find_existing(bodies: Iterable[Body]) -> Mapping[str, int]:
    """Return the IDs of existing cards by code."""
    digests = {
        digest: code
        for code in {codes.normalize_code(get_text(body, "code")) for body in bodies}
        for digest in codes.calculate_digests(code)
    }
    found = GiftCard.objects.filter(code_digest__in=digests).values_list("code_digest", "pk")
    return {digests[digest]: pk for digest, pk in found if digest is not None}


def _find_card_without_code(body: Body) -> GiftCard | None:
    """Return the card without a code that has the last characters and the amount of a row.

    Raises:
        GiftCardRefused: Cards without a code end like this, but none or several have the amount.
    """
    ending = codes.normalize_code(get_text(body, "code"))[-codes.LAST_CHARACTERS :]
    cards = list(GiftCard.objects.filter(code_digest=None, last_characters=ending)) if ending else []
    if not cards:
        return None
    name = "initial_value" if body.get("initial_value") is not None else "balance"
    with convert_api_errors():
        amount = validate_body(_RowSerializer, get_latest_version(), {"code": "", **body}).get(name)
    matches = [card for card in cards if getattr(card, name) == amount]
    if len(matches) != 1:
        raise GiftCardRefused(_OTHER_AMOUNT, field="code")
    return matches[0]


def _set_code(card: GiftCard, body: Body, *, actor: str, at: datetime) -> RowOutcome:
    """Set the code of a card without a code. Its balance is known, so the amounts of the row are not imported."""
    set_code(card, get_text(body, "code"), actor=actor, at=at)
    return RowOutcome(RowResult.CHANGED, f"{_LABEL_PREFIX}{card.pk}")


def _import_card(body: Body, customer: Customer | None, *, actor: str, at: datetime, dry: bool) -> RowOutcome:
    with convert_api_errors():
        attrs = validate_body(_RowSerializer, get_latest_version(), {"code": None, **body})
    values = _build_attrs(attrs, customer)
    balance = attrs["balance"] if attrs.get("balance") is not None else values["initial_value"]
    is_disabled = bool(attrs.get("disabled"))
    card = restore_gift_card(values, balance=balance, is_disabled=is_disabled, actor=actor, at=at)
    shown = {name: value for name, value in _serialize(card).items() if name in _VALUES and value}
    label = f"•••• {card.last_characters}" if dry else f"{_LABEL_PREFIX}{card.pk}"
    return RowOutcome(RowResult.NEW, label, changes={name: (None, value) for name, value in shown.items()})


def _build_attrs(attrs: ReadOnlyAttrs, customer: Customer | None) -> Attrs:
    """Return the attributes of the new card. Without an initial value, it is the balance."""
    if not attrs.get("code"):
        raise GiftCardRefused(BLANK, field="code")
    currency = attrs.get("currency")
    if currency and currency.upper() != get_current_shop().currency:
        raise GiftCardRefused(_OTHER_CURRENCY, field="currency")
    if attrs.get("customer_email") and customer is None:
        raise GiftCardRefused(MUST_EXIST, field="customer")
    value: Any = attrs["initial_value"] if attrs.get("initial_value") is not None else attrs.get("balance")
    return {
        "code": attrs["code"],
        "initial_value": value,
        "customer_id": customer.pk if customer else None,
        "expires_on": attrs.get("expires_on"),
        "note": attrs.get("note"),
    }


def _find_cards(labels: Collection[str]) -> Mapping[str, GiftCard]:
    numbers = [label.removeprefix(_LABEL_PREFIX) for label in labels if label.startswith(_LABEL_PREFIX)]
    cards = GiftCard.objects.filter(pk__in=[int(number) for number in numbers if number.isdecimal()])
    return {f"{_LABEL_PREFIX}{card.pk}": card for card in cards}


def _get_label(column: str) -> str:
    return str(_LABELS.get(column) or get_field_label(column, (GiftCard,)))


GIFT_CARDS = Resource(
    name="giftcards",
    label=gettext_lazy("Gift cards"),
    singular="gift_card",
    exporter=Exporter(
        model=GiftCard,
        permission="gift_cards.export_giftcard",
        granted_by="gift_cards",
        topic="gift_cards/export",
        columns=("last_characters", *_VALUES, "created_at"),
        read_objects=_read_cards,
        get_cells=_get_cells,
    ),
    importer=Importer(
        permission="gift_cards.add_giftcard",
        granted_by="gift_cards",
        models=(GiftCard,),
        columns=(CODE, *_VALUES),
        field_columns={"code": CODE, "customer": "customer_email"},
        aliases={
            CODE: ("Code", "Card code", "Card number", "Gift card number", "Voucher code", "Gutscheincode"),
            "initial_value": ("Initial balance", "Original value", "Original balance", "Startguthaben", "Wert"),
            "balance": ("Current balance", "Remaining balance", "Remaining value", "Restguthaben", "Restwert"),
            "customer_email": ("Email", "Recipient email", "E-Mail", "Kunden-E-Mail"),
            "expires_on": ("Expiry date", "Expiration date", "Expires", "Expires at", "Valid until"),
            "note": ("Notes", "Comment", "Bemerkung"),
            "disabled": ("Is disabled", "Deactivated", "Blocked"),
        },
        get_label=_get_label,
        members=frozenset({"id", "code", *_VALUES, *_COMPUTED}),
        group_by=CODE,
        identifying_columns=("initial_value", "balance"),
        body=_parse_row,
        keys=_get_keys,
        duplicate_result=RowResult.SKIPPED,
        import_rows=_import_cards,
        find=_find_cards,
        unsupported=_COMPUTED,
    ),
)
