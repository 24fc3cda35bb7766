"""What the search for customers knows, and the column that makes it fast.

``Customer.search_text`` holds, each behind a blank, every beginning of a word of a customer's names, e-mail, phone and
companies, without case and accents. So a word's beginning is found by one ``LIKE '% beginning%'``, which PostgreSQL
answers from a trigram index and SQLite narrows with a full-text index (``apps.customers.domain.full_text``).
Rule: decisions, Search.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import tzinfo

from django.db.models import Q, QuerySet

from apps.customers.domain.contacts import email_key, national_number
from apps.customers.domain.full_text import narrowed
from apps.customers.models import NEVER, Address, Customer
from apps.query import Comparator, Kind, Term
from apps.query.database import SearchFields
from apps.query.fields import (
    Boolean,
    Choice,
    Integer,
    MisfitError,
    Moment,
    Number,
    Related,
    SearchField,
    Tags,
    Text,
    Words,
)
from apps.shops.domain import countries

MAX_LENGTH = 4000
_WORD_STARTS = re.compile(r"(?<=\W)(?=\w)|(?<=_)(?=[^\W_])")
_SEPARATORS = " @.-_+'’/,"


def fold(text: str) -> str:
    """Text without case, accents and runs of blanks."""
    if text.isascii():
        return " ".join(text.lower().split())
    plain = "".join(mark for mark in unicodedata.normalize("NFKD", text) if not unicodedata.combining(mark))
    return " ".join(plain.casefold().split())


def search_text(customer: Customer, companies: Iterable[str] = ()) -> str:
    """The search column of a customer: every beginning of a word, each behind a blank."""
    phone = customer.phone
    texts = [customer.name, customer.email, phone, national_number(phone), *companies]
    found: dict[str, None] = {}
    for folded in dict.fromkeys(map(fold, texts)):
        starts = [0, *(match.start() for match in _WORD_STARTS.finditer(folded))]
        found |= dict.fromkeys(folded[start:] for start in starts if folded)
    return "".join(f" {beginning}" for beginning in found)[:MAX_LENGTH]


@dataclass(frozen=True)
class WordStart(Text):
    """The beginning of a word in the search column."""

    def condition(self, term: Term, zone: tzinfo, /) -> Q:
        """The rows that have such a word."""
        if term.kind is Kind.PRESENT or not term.value:
            return super().condition(term, zone)
        folded = fold(term.value)
        return narrowed(folded) & Q(**{f"{self.lookup}__contains": f" {folded}"})


@dataclass(frozen=True)
class Part(Text):
    """A text that stands anywhere in a column which has an index of its own."""

    def condition(self, term: Term, _zone: tzinfo, /) -> Q:
        """The rows that have it."""
        return narrowed(term.value) & Q(**{f"{self.lookup}__icontains": term.value})


@dataclass(frozen=True)
class Indexed:
    """A text that an index finds too much of: the index narrows, the field decides.

    Attributes:
        exact: The field.
        index: What narrows; the search column, where it has all words of the field.
    """

    exact: SearchField
    index: SearchField = WordStart("search_text")

    @property
    def is_related(self) -> bool:
        """Whether the field is one of other rows."""
        return getattr(self.exact, "is_related", False)

    def condition(self, term: Term, zone: tzinfo, /) -> Q:
        """The field's condition, behind the index."""
        exact = self.exact.condition(term, zone)
        if term.kind is Kind.PRESENT or not term.value:
            return exact
        return self.index.condition(term, zone) & exact


@dataclass(frozen=True)
class Email(Words):
    """An e-mail: the whole address of somebody finds them alone, anything else the beginnings of words.

    By whole addresses apps look customers up, and their words are those of many: among a million customers the search
    column takes a hundred times as long as the address's own index.
    """

    def condition(self, term: Term, zone: tzinfo, /) -> Q:
        """The row with that address, else those with such words."""
        if term.kind is Kind.EXACT and term.comparator is Comparator.EQUAL and "@" in term.value:
            whole = Q(email_key=email_key(term.value.strip()))
            if Customer.objects.filter(whole).exists():
                return whole
        return super().condition(term, zone)


@dataclass(frozen=True)
class Phone(Text):
    """A phone number, written in any way."""

    def condition(self, term: Term, zone: tzinfo, /) -> Q:
        """The rows whose number begins so, with or without the country's prefix."""
        digits = re.sub(r"[^0-9+]", "", term.value)
        if term.kind is Kind.PRESENT or not term.value:
            return super().condition(term, zone)
        if not digits:
            raise MisfitError(term, "is not a phone number")
        return narrowed(digits) & Q(search_text__contains=f" {digits}") & Q(phone__contains=digits)


@dataclass(frozen=True)
class LastOrder(Moment):
    """The last order's moment; 1970 stands for none."""

    def condition(self, term: Term, zone: tzinfo, /) -> Q:
        """The rows with an order then."""
        ordered = Q(**{f"{self.lookup}__gt": NEVER})
        return ordered if term.kind is Kind.PRESENT else ordered & super().condition(term, zone)


@dataclass(frozen=True)
class CountryWord(Text):
    """A country by its code or the beginning of its English name, compared by the code."""

    def condition(self, term: Term, zone: tzinfo, /) -> Q:
        """The rows in such a country."""
        if term.kind is Kind.PRESENT or not term.value:
            return super().condition(term, zone)
        named = countries.find_country(term.value) if term.kind is Kind.EXACT else None
        wanted = fold(term.value)
        codes = (
            [named.code]
            if named
            else [
                country.code
                for country in countries.countries()
                if any(part.startswith(wanted) for part in (fold(country.name), *fold(country.name).split()))
            ]
        )
        return Q(**{f"{self.lookup}__in": codes})


def _addresses() -> QuerySet[Address]:
    rows: QuerySet[Address] = Address.objects.all()
    return rows


def _customers() -> QuerySet[Customer]:
    rows: QuerySet[Customer] = Customer.objects.all()
    return rows


def _of_address(field: SearchField) -> Related:
    return Related(_addresses, "customer_id", field)


TAGS = Indexed(Tags("tags"), Part("tags"))
SEARCH = SearchFields(
    fields={
        "any": WordStart("search_text"),
        "email": Indexed(Email("email", after="@.-_+")),
        "first_name": Indexed(Words("first_name", after=_SEPARATORS)),
        "last_name": Indexed(Words("last_name", after=_SEPARATORS)),
        "phone": Phone("phone"),
        "id": Integer("pk"),
        "tag": TAGS,
        "customer_tag": TAGS,
        "state": Choice("state", Customer.State.values),
        "country": _of_address(CountryWord("country_code")),
        "province": _of_address(Words("province")),
        "city": _of_address(Words("city")),
        "company": Indexed(_of_address(Words("company", after=_SEPARATORS))),
        "zip": _of_address(Text("zip")),
        "note": Indexed(Words("note"), Part("note")),
        "orders_count": Integer("orders_count"),
        "total_spent": Number("total_spent"),
        "verified_email": Boolean("verified_email"),
        "tax_exempt": Boolean("tax_exempt"),
        "created_at": Moment("created_at"),
        "updated_at": Moment("updated_at"),
        "last_order_date": LastOrder("last_order_at"),
    },
    bare=("any",),
    rows=_customers,
)

# What ``order`` may name, and the columns; the id breaks ties.
ORDERS = {
    "id": (),
    "created_at": ("created_at",),
    "updated_at": ("updated_at",),
    "last_order_date": ("last_order_at",),
    "orders_count": ("orders_count",),
    "total_spent": ("total_spent",),
    "first_name": ("first_name",),
    "last_name": ("last_name",),
    "email": ("email_key",),
    "state": ("state",),
}

# By the first column of an order, everybody in parts that have an index each. What a query finds is sorted instead: all
# of it may stand at the far end of such an index.
EVERYBODY = {"email_key": (Q(email_key=""), ~Q(email_key=""))}
