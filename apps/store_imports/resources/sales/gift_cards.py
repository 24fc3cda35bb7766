"""Import gift cards with their balances. The API only returns the last characters of a code.

An imported card has no code, so customers can't pay with it. The import of a file with codes, or staff, sets the code.
"""

from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import ClassVar

from django.db.models import Model

from apps.core.exceptions import DomainError
from apps.core.i18n.messages import Amount, define_message, define_text
from apps.core.money import format_decimal
from apps.core.rest.resources.fields import ModelDerivedField
from apps.core.rest.resources.serializers import ResourceSerializer, validate_body
from apps.core.rest.versions import get_latest_version
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs
from apps.customers.api.fields import BlankAsNullTextField
from apps.customers.models import Customer
from apps.gift_cards.api.gift_cards import GiftCardSerializer
from apps.gift_cards.domain.codes import LAST_CHARACTERS, normalize_code
from apps.gift_cards.domain.restored_balances import restore_card_without_code, update_restored_card
from apps.gift_cards.models import GiftCard
from apps.imports_exports.resources.cells import convert_api_errors
from apps.orders.api.fields import AmountField, blank_as_null_text
from apps.store_imports.domain.comparison import Comparison
from apps.store_imports.domain.source_client import SourceObject, refuse_malformed
from apps.store_imports.domain.streams import ACTOR, ObjectResult, Outcome, Source, write_in_savepoint
from apps.store_imports.resources.optional_lists import OptionalStream
from apps.store_imports.resources.rest_objects import create_reader

PAGE_SIZE = 100
_OTHER_CURRENCY = define_message(
    "store_imports.card_currency", "The gift card is in {theirs}, but this shop's currency is {ours}."
)
_SAME_CARD = define_message(
    "store_imports.same_card",
    "This shop already has a gift card of {value} that ends with {characters}. If it is the same card, adjust its "
    "balance.",
)
_NO_CUSTOMER = define_text("store_imports.card_customer", "The customer of the gift card was not imported.")


class _CardSerializer(ResourceSerializer[GiftCard]):
    initial_value = AmountField()
    balance = AmountField()
    expires_on = ModelDerivedField()
    note = BlankAsNullTextField(max_length=5000)
    template_suffix = blank_as_null_text()


class GiftCardStream(OptionalStream):
    name = "gift_cards"
    resource = "gift_card"
    model: ClassVar[type[Model]] = GiftCard
    path = "gift_cards.json"
    sets_creation_time = True
    can_be_forbidden = True
    comparison = Comparison(
        read=create_reader(GiftCardSerializer),
        ids={"customer_id": "customer"},
        not_compared={
            "api_client_id": "the apps of the store have other IDs",
            "user_id": "the staff of the store have other IDs",
            **dict.fromkeys(("order_id", "line_item_id"), "imported cards have no order in which they were sold"),
        },
        limits={"last_characters": "a code that was set in this shop can have other last characters"},
    )

    def read_list(self, source: Source, position: int) -> Sequence[SourceObject]:
        client, filters = source.client, source.change_filter
        return client.get_page(self.path, self.name, since_id=position, limit=PAGE_SIZE, **filters)

    def write_listed(self, source: Source, objects: Sequence[SourceObject]) -> Sequence[ObjectResult]:
        known = source.ids.get_target_ids(self.resource, [row["id"] for row in objects])
        existing = GiftCard.objects.select_related("customer").in_bulk(list(known.values()))
        customer_ids = source.ids.get_target_ids("customer", {row["customer_id"] for row in objects if _is_owned(row)})
        customers = Customer.objects.in_bulk(list(customer_ids.values()))
        return [
            write_in_savepoint(
                partial(
                    _write_card,
                    source,
                    row,
                    existing.get(known.get(row["id"], 0)),
                    customers.get(customer_ids.get(row.get("customer_id") or 0, 0)),
                )
            )
            for row in objects
        ]

    def read_own(self, source: Source, target_ids: Collection[int]) -> Mapping[int, SourceObject]:
        """Return the cards, without the notes of cards of erased customers, which are not imported."""
        cards = super().read_own(source, target_ids)
        erased = GiftCard.objects.filter(pk__in=target_ids, customer__redacted_at__isnull=False)
        for pk in erased.values_list("pk", flat=True):
            del cards[pk]["note"]
        return cards

    def normalize_pair(self, source: Source, theirs: SourceObject, ours: SourceObject) -> None:
        """Compare only whether the card is disabled, because it gets the time of the import."""
        for card in (theirs, ours):
            card["disabled_at"] = card.get("disabled_at") is not None
            card["last_characters"] = normalize_code(card["last_characters"])


def _is_owned(row: SourceObject) -> bool:
    return isinstance(row.get("customer_id"), int)


def _write_card(source: Source, row: SourceObject, card: GiftCard | None, customer: Customer | None) -> ObjectResult:
    currency = get_current_shop().currency
    if row.get("currency") not in {None, currency}:
        raise DomainError(_OTHER_CURRENCY(theirs=str(row["currency"]), ours=currency))
    with refuse_malformed(GiftCardStream.name, row):
        last_characters = normalize_code(row["last_characters"])[-LAST_CHARACTERS:]
    with convert_api_errors(row):
        attrs = validate_body(_CardSerializer, get_latest_version(), row)
    values: Attrs = {"balance": attrs.pop("balance"), "is_disabled": row.get("disabled_at") is not None}
    owner = customer if card is None else card.customer or customer
    if owner is not None and owner.redacted_at is not None:
        # The note of the store may contain the erased personal data.
        attrs.pop("note", None)
    if card is None:
        _refuse_same_card(source, last_characters, attrs["initial_value"])
        attrs["customer_id"] = customer.pk if customer else None
        card = restore_card_without_code(attrs, last_characters, **values, actor=ACTOR, at=source.at)
        outcome = Outcome.NEW
    else:
        before = card.version
        attrs.pop("initial_value")
        if card.customer_id is None and customer is not None:
            attrs["customer_id"] = customer.pk
        update_restored_card(card, attrs, **values, actor=ACTOR, at=source.at)
        version = GiftCard.objects.values_list("version", flat=True).get(pk=card.pk)
        outcome = Outcome.UNCHANGED if version == before else Outcome.CHANGED
    problem = _NO_CUSTOMER if _is_owned(row) and owner is None else None
    return ObjectResult(outcome, card.pk, problem, is_complete=problem is None)


def _refuse_same_card(source: Source, last_characters: str, initial_value: Decimal) -> None:
    """Refuse a card that this shop has from elsewhere, such as an import file, because its balance would be doubled."""
    cards = GiftCard.objects.filter(last_characters=last_characters, initial_value=initial_value)
    ids = list(cards.order_by().values_list("pk", flat=True))
    if len(source.ids.get_source_ids(GiftCardStream.resource, ids)) < len(ids):
        value = Amount(format_decimal(initial_value, get_current_shop().currency), get_current_shop().currency)
        raise DomainError(_SAME_CARD(value=value, characters=last_characters))
