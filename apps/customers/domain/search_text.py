"""The columns by which customers are searched: texts without case and accents, each word behind a mark.

``search_text`` holds what a bare word finds (e-mail, phone, name, companies), each beginning of a word behind a blank.
``search_own`` holds the customer's texts and ``search_places`` those of the addresses, each beginning of a word behind
its field's label. So one ``LIKE '%<mark>beginning%'`` finds a word's beginning in whichever field, alike on both
databases; PostgreSQL answers it from trigram indexes and SQLite narrows it with a full-text index
(``apps.customers.domain.full_text``). The columns are as long as what they are made of asks for, at most twice as long.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from apps.customers.domain.contacts import national_number
from apps.customers.models import Address, Customer

END = "\x0f"
_STARTS = re.compile(r" |(?<=[^\w ])(?=\w)|(?<=_)(?=[^\W_])")
_CONTROLS = dict.fromkeys((*range(9), *range(14, 28), 127))

Place = Mapping[str, str]
PLACE = ("company", "city", "province", "zip", "country_code")


class Label(StrEnum):
    """The mark of a field's words; a character that no folded text holds."""

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


def fold(text: str) -> str:
    """Text without case, accents, control characters and runs of blanks."""
    if not text.isascii():
        plain = "".join(mark for mark in unicodedata.normalize("NFKD", text) if not unicodedata.combining(mark))
        # Folding may bring back what the first step took apart.
        text = unicodedata.normalize("NFKD", plain.casefold())
    return " ".join(text.lower().translate(_CONTROLS).split())


def marked(text: str, mark: str = " ") -> str:
    """The folded text with a mark before each word, in the place of the blank where there is one."""
    folded = fold(text)
    return mark + _STARTS.sub(mark, folded) if folded else ""


def _entries(texts: Iterable[tuple[str, str]]) -> str:
    """Marked texts, each with an end, each once."""
    found = dict.fromkeys([marked(text, mark) for text, mark in texts if text])
    return "".join([f"{entry}{END}" for entry in found if entry])


def whole(text: str, label: Label) -> str:
    """A text that is found by its own beginning only: one label, and an end."""
    folded = fold(text)
    return f"{label}{folded}{END}" if folded else ""


def search_text(customer: Customer, companies: Iterable[str] = ()) -> str:
    """What bare words find; first by what a customer is told apart."""
    phone = customer.phone
    texts = (customer.email, phone, national_number(phone), f"{customer.first_name} {customer.last_name}", *companies)
    return _entries((text, " ") for text in texts)


def own_words(customer: Customer) -> str:
    """The customer's texts by field."""
    named = _entries((
        (customer.first_name, Label.FIRST_NAME),
        (customer.last_name, Label.LAST_NAME),
        (customer.email, Label.EMAIL),
        (customer.note, Label.NOTE),
    ))  # fmt: skip
    return named + "".join(whole(tag, Label.TAG) for tag in customer.tags.split(", ") if customer.tags)


def place_words(places: Sequence[Place]) -> str:
    """The texts of the addresses by field."""
    named = _entries(
        (place.get(name) or "", label)
        for place in places
        for name, label in (("city", Label.CITY), ("province", Label.PROVINCE), ("company", Label.COMPANY))
    )
    coded = (
        whole(place.get(name) or "", label)
        for place in places
        for name, label in (("zip", Label.ZIP), ("country_code", Label.COUNTRY))
    )
    return named + "".join(dict.fromkeys(coded))


def renew(customer: Customer, places: Sequence[Place]) -> None:
    """Make all three columns say what the customer and the addresses say."""
    customer.search_text = search_text(customer, [place["company"] for place in places if place.get("company")])
    customer.search_own = own_words(customer)
    customer.search_places = place_words(places)


def places_of(customer: Customer, without: Iterable[int] = ()) -> list[Place]:
    """What is searched of a customer's addresses."""
    rows = Address.objects.filter(customer=customer).exclude(pk__in=list(without))
    return list(rows.order_by("pk").values(*PLACE))
