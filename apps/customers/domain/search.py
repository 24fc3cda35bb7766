"""What the search for customers knows, by the columns that ``search_text`` writes.

Rule: decisions, Search.
"""

import re
from dataclasses import dataclass, replace
from datetime import tzinfo
from functools import reduce
from operator import or_
from typing import ClassVar

from django.db.models import Q

from apps.customers.domain.contacts import email_key
from apps.customers.domain.full_text import narrowed
from apps.customers.domain.known import has_email
from apps.customers.domain.search_text import END, Label, fold, marked, whole
from apps.customers.domain.words import person, table, where
from apps.customers.models import NEVER, Customer
from apps.ground.ranks import within
from apps.query import Comparator, Kind, Term
from apps.query.database import NOTHING, SearchFields
from apps.query.fields import Boolean, Choice, Integer, MisfitError, Moment, Number, SearchField
from apps.shops.domain import countries

_FIRST_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class WordStart:
    """The beginning of a word in a search column.

    Attributes:
        column: The column.
        mark: What stands before each word of the field, in the column.
        narrows: Whether an index is asked first; in the way of the opposite.
    """

    column: str
    mark: str = " "
    narrows: bool = True
    takes_words: ClassVar[bool] = True

    def table(self, _term: Term) -> str:
        """Where the database looks for it."""
        return table()

    @property
    def exact(self) -> SearchField:
        """The same without an index."""
        return replace(self, narrows=False)

    def condition(self, term: Term, _zone: tzinfo, /) -> Q:
        """The rows that have such a word."""
        present = where(self.column, self.mark)
        if term.kind is Kind.PRESENT:
            return present
        if term.comparator is not Comparator.EQUAL:
            raise MisfitError(term, "cannot be compared: the field is a text")
        if not term.value:
            return ~present
        folded = fold(term.value)
        return self.having(term, folded) if folded else NOTHING

    def having(self, term: Term, folded: str) -> Q:
        """The rows that have what a term, which is not empty when folded, asks for."""
        return self.found(marked(term.value, self.mark), folded)

    def found(self, pattern: str, words: str) -> Q:
        """The rows whose column has a pattern, read from the index by words with which others in it begin."""
        exact = where(self.column, pattern)
        return narrowed(words, self.column) & exact if self.narrows else exact


@dataclass(frozen=True)
class Entry(WordStart):
    """A text that is matched as a whole, or by its own beginning where the query says so."""

    def having(self, term: Term, folded: str) -> Q:
        """The rows that have it."""
        return self.found(f"{self.mark}{folded}{'' if term.kind is Kind.PREFIX else END}", folded)


def _somebody(term: Term) -> Q | None:
    """The customer whose whole address a term is; None where it is nobody's.

    By whole addresses people are looked up, and their words are those of many: among a million customers the search
    column takes a hundred times as long as the address's own index.
    """
    if term.kind is not Kind.EXACT or "@" not in term.value:
        return None
    found = Customer.objects.filter(has_email(email_key(term.value.strip()))).values_list("pk", flat=True).first()
    return None if found is None else person(found)


@dataclass(frozen=True)
class Anything(WordStart):
    """A word of what customers are told apart by; the whole address of somebody finds them alone."""

    def having(self, term: Term, folded: str) -> Q:
        """The customer with that address, else those with such words."""
        return _somebody(term) or super().having(term, folded)


@dataclass(frozen=True)
class Email(WordStart):
    """An e-mail: the whole address of somebody finds them alone, anything else the beginnings of words, or the end."""

    takes_endings: ClassVar[bool] = True
    takes_words: ClassVar[bool] = False

    def having(self, term: Term, folded: str) -> Q:
        """The row with that address, else those with such words or such an end."""
        if term.kind is Kind.SUFFIX:
            # The index knows the beginnings of words, and the first one may begin before what is asked for.
            words = _FIRST_WORD.sub("", folded, count=1) if _FIRST_WORD.match(folded) else folded
            return self.found(f"{marked(term.value, self.mark)[1:]}{END}", words)
        return _somebody(term) or super().having(term, folded)


@dataclass(frozen=True)
class Phone(WordStart):
    """A phone number, written in any way."""

    def table(self, term: Term) -> str:
        """Whether there is one says the customer's row."""
        return "" if term.kind is Kind.PRESENT or not term.value else super().table(term)

    def condition(self, term: Term, zone: tzinfo, /) -> Q:
        """The rows whose number begins so, with or without the country's prefix."""
        if term.kind is Kind.PRESENT or not term.value:
            return Q(phone__gt="") if term.kind is Kind.PRESENT else Q(phone="")
        return super().condition(term, zone)

    def having(self, term: Term, folded: str) -> Q:
        """The rows whose number begins so."""
        digits = re.sub(r"[^0-9+]", "", folded)
        if not digits:
            raise MisfitError(term, "is not a phone number")
        return self.found(marked(digits, self.mark), digits) & Q(phone__contains=digits)


@dataclass(frozen=True)
class LastOrder(Moment):
    """The last order's moment; 1970 stands for none."""

    def condition(self, term: Term, zone: tzinfo, /) -> Q:
        """The rows with an order then."""
        ordered = Q(**{f"{self.lookup}__gt": NEVER})
        return ordered if term.kind is Kind.PRESENT else ordered & super().condition(term, zone)


@dataclass(frozen=True)
class Country(WordStart):
    """A country by its code or the beginning of its English name, compared by the code."""

    def having(self, term: Term, folded: str) -> Q:
        """The rows with an address in such a country."""
        named = countries.find_country(term.value) if term.kind is Kind.EXACT else None
        codes = [named.code] if named else [each.code for each in countries.countries() if _is_called(each, folded)]
        found = (self.found(whole(code, Label.COUNTRY), code.lower()) for code in codes)
        return reduce(or_, found, NOTHING)


def _is_called(country: countries.Country, beginning: str) -> bool:
    name = fold(country.name)
    return any(part.startswith(beginning) for part in (name, *name.split()))


@dataclass(frozen=True)
class OfRank:
    """A column that has its index in the customers' ranks."""

    field: SearchField

    def table(self, _term: Term) -> str:
        """The ranks."""
        return "ranked"

    def condition(self, term: Term, zone: tzinfo, /) -> Q:
        """What the field says."""
        return within(self.field.condition(term, zone))


def _own(label: Label) -> WordStart:
    return WordStart("search_own", label)


def _of_places(label: Label) -> WordStart:
    return WordStart("search_places", label)


TAGS = Entry("search_own", Label.TAG)
SEARCH = SearchFields(
    fields={
        "any": Anything("search_text"),
        "email": Email("search_own", Label.EMAIL),
        "first_name": _own(Label.FIRST_NAME),
        "last_name": _own(Label.LAST_NAME),
        "phone": Phone("search_text"),
        "id": Integer("pk"),
        "tag": TAGS,
        "customer_tag": TAGS,
        "state": Choice("state", Customer.State.values),
        "country": Country("search_places", Label.COUNTRY),
        "province": _of_places(Label.PROVINCE),
        "city": _of_places(Label.CITY),
        "company": _of_places(Label.COMPANY),
        "zip": Entry("search_places", Label.ZIP),
        "note": _own(Label.NOTE),
        "orders_count": OfRank(Integer("ranked__orders_count")),
        "total_spent": OfRank(Number("ranked__total_spent")),
        "verified_email": Boolean("verified_email"),
        "tax_exempt": Boolean("tax_exempt"),
        "created_at": Moment("created_at"),
        "updated_at": OfRank(Moment("ranked__updated_at")),
        "last_order_date": OfRank(LastOrder("ranked__last_order_at")),
    },
    bare=("any",),
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
