"""Build the search columns of customers: folded text with a mark before each word.

``search_text`` contains the text for search words without a field name (email, phone, name, companies), with a space
before each word. ``search_own`` contains the customer's fields, and ``search_places`` contains the address fields. In
these two columns, the mark of the field comes before each word.

One ``LIKE '%<mark>beginning%'`` therefore finds a field's words by their beginning on both databases. PostgreSQL uses
trigram indexes. SQLite first narrows the rows with a full-text index (``apps.customers.domain.sqlite_fts``). A column
is at most twice as long as the values that it contains.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from apps.customers.domain.contact_normalization import get_national_number
from apps.customers.models import Address, Customer

END_MARK = "\x0f"
_STARTS = re.compile(r" |(?<=[^\w ])(?=\w)|(?<=_)(?=[^\W_])")
_CONTROLS = dict.fromkeys((*range(9), *range(14, 28), 127))

AddressTexts = Mapping[str, str]
ADDRESS_COLUMNS = ("company", "city", "province", "zip", "country_code")


class FieldMark(StrEnum):
    """The mark before each word of a field: a control character that folded text never contains."""

    FIRST_NAME = "\x01"
    LAST_NAME = "\x02"
    EMAIL = "\x03"
    TAG = "\x04"
    NOTE = "\x05"
    CITY = "\x06"
    PROVINCE = "\x07"
    ZIP = "\x08"
    COMPANY = "\x0e"
    COUNTRY = "\x10"


def fold_text(text: str) -> str:
    """Return the case-folded text without accents, control characters and repeated spaces."""
    if not text.isascii():
        without_accents = "".join(
            character for character in unicodedata.normalize("NFKD", text) if not unicodedata.combining(character)
        )
        # Case folding can produce composed characters, which must be decomposed.
        text = unicodedata.normalize("NFKD", without_accents.casefold())
    return " ".join(text.lower().translate(_CONTROLS).split())


def mark_words(text: str, mark: str = " ") -> str:
    """Return the folded text with a mark before each word. The mark replaces the space."""
    folded = fold_text(text)
    return mark + _STARTS.sub(mark, folded) if folded else ""


def _entries(texts: Iterable[tuple[str, str]]) -> str:
    """Return the marked strings without duplicates, joined and each followed by an end mark."""
    entries = dict.fromkeys([mark_words(text, mark) for text, mark in texts if text])
    return "".join([f"{entry}{END_MARK}" for entry in entries if entry])


def mark_whole_text(text: str, label: FieldMark) -> str:
    """Return a marked string that matches only from the beginning: the label, the folded text and an end mark."""
    folded = fold_text(text)
    return f"{label}{folded}{END_MARK}" if folded else ""


def build_search_text(customer: Customer, companies: Iterable[str] = ()) -> str:
    """Return the text for search words without a field name, with the most identifying values first."""
    phone = customer.phone
    texts = (
        customer.email,
        phone,
        get_national_number(phone),
        f"{customer.first_name} {customer.last_name}",
        *companies,
    )
    return _entries((text, " ") for text in texts)


def build_own_text(customer: Customer) -> str:
    """Return the marked words of the customer's fields."""
    entries = _entries((
        (customer.first_name, FieldMark.FIRST_NAME),
        (customer.last_name, FieldMark.LAST_NAME),
        (customer.email, FieldMark.EMAIL),
        (customer.note, FieldMark.NOTE),
    ))  # fmt: skip
    return entries + "".join(mark_whole_text(tag, FieldMark.TAG) for tag in customer.tags.split(", ") if customer.tags)


def build_address_text(addresses: Sequence[AddressTexts]) -> str:
    """Return the marked words of the address fields."""
    entries = _entries(
        (address.get(name) or "", label)
        for address in addresses
        for name, label in (("city", FieldMark.CITY), ("province", FieldMark.PROVINCE), ("company", FieldMark.COMPANY))
    )
    whole_entries = (
        mark_whole_text(address.get(name) or "", label)
        for address in addresses
        for name, label in (("zip", FieldMark.ZIP), ("country_code", FieldMark.COUNTRY))
    )
    return entries + "".join(dict.fromkeys(whole_entries))


def rebuild_search_columns(customer: Customer, addresses: Sequence[AddressTexts]) -> None:
    """Rebuild all three search columns from the customer and the addresses."""
    customer.search_text = build_search_text(
        customer, [address["company"] for address in addresses if address.get("company")]
    )
    customer.search_own = build_own_text(customer)
    customer.search_places = build_address_text(addresses)


def get_address_texts(customer: Customer, excluded_ids: Iterable[int] = ()) -> list[AddressTexts]:
    """Return the searchable columns of a customer's addresses."""
    rows = Address.objects.filter(customer=customer).exclude(pk__in=list(excluded_ids))
    return list(rows.order_by("pk").values(*ADDRESS_COLUMNS))
