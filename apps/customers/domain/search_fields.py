"""Search fields for customers, based on the columns of ``search_columns``."""

import re
from dataclasses import dataclass, replace
from datetime import tzinfo
from functools import reduce
from operator import or_
from typing import ClassVar

from django.db.models import Q

from apps.core.db.case_folding import build_email_key
from apps.core.db.sort_tables import add_shop_condition
from apps.core.search_query import Comparator, Kind, Term
from apps.core.search_query.database import MATCH_NOTHING, SearchFields
from apps.core.search_query.fields import Boolean, Choice, Integer, InvalidValueError, Number, SearchField, Timestamp
from apps.customers.domain.fields import MARKS, FieldMark
from apps.customers.domain.lookup import match_email
from apps.customers.domain.search_columns import (
    END_MARK,
    fold_text,
    get_search_relation,
    mark_whole_text,
    mark_words,
    match_column,
    match_customer,
    narrow_by_index,
)
from apps.customers.models import NEVER_ORDERED, Customer
from apps.shops.domain import countries

_FIRST_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class WordPrefixField:
    """A search field that matches the beginning of words in a search column.

    ``mark`` is the character before each word of the field. ``narrows`` is False for negated conditions, which can't
    use the index.
    """

    column: str
    mark: str = " "
    narrows: bool = True
    takes_words: ClassVar[bool] = True

    def table(self, _term: Term) -> str:
        return get_search_relation()

    @property
    def exact(self) -> SearchField:
        return replace(self, narrows=False)

    def build_condition(self, term: Term, _zone: tzinfo, /) -> Q:
        presence = match_column(self.column, self.mark)
        if term.kind is Kind.PRESENT:
            return presence
        if term.comparator is not Comparator.EQUAL:
            raise InvalidValueError(term, "cannot be compared, because the field is a text")
        if not term.value:
            return ~presence
        folded = fold_text(term.value)
        return self.match_term(term, folded) if folded else MATCH_NOTHING

    def match_term(self, term: Term, folded: str) -> Q:
        return self.match_pattern(mark_words(term.value, self.mark), folded)

    def match_pattern(self, pattern: str, words: str) -> Q:
        """Return the condition for a pattern in the column. The index narrows the rows by the words in ``words``."""
        exact = match_column(self.column, pattern)
        return narrow_by_index(words, self.column) & exact if self.narrows else exact


@dataclass(frozen=True)
class WholeTextField(WordPrefixField):
    """A text field that is matched as a whole, or by its beginning if the query asks for a prefix."""

    def match_term(self, term: Term, folded: str) -> Q:
        return self.match_pattern(f"{self.mark}{folded}{'' if term.kind is Kind.PREFIX else END_MARK}", folded)


def _match_whole_email(term: Term) -> Q | None:
    """Return the condition for the customer with the email in the term, if there is one.

    The words of an address occur in many other addresses, so with a million customers, the search column is a hundred
    times slower than the email index.
    """
    if term.kind is not Kind.EXACT or "@" not in term.value:
        return None
    customer_id = (
        Customer.objects.filter(match_email(build_email_key(term.value.strip()))).values_list("pk", flat=True).first()
    )
    return None if customer_id is None else match_customer(customer_id)


@dataclass(frozen=True)
class AnyTextField(WordPrefixField):
    """The search field for any word that identifies a customer. A whole email address matches only one customer."""

    def match_term(self, term: Term, folded: str) -> Q:
        return _match_whole_email(term) or super().match_term(term, folded)


@dataclass(frozen=True)
class EmailSearchField(WordPrefixField):
    """The search field for an email.

    A whole address matches only the customer with this email. Other text matches the beginning of a word or the end of
    the email.
    """

    takes_endings: ClassVar[bool] = True
    takes_words: ClassVar[bool] = False

    def match_term(self, term: Term, folded: str) -> Q:
        if term.kind is Kind.SUFFIX:
            # The index only finds the beginnings of words, and the suffix may start in the middle of a word. So search
            # the index without the first word of the suffix.
            words = _FIRST_WORD.sub("", folded, count=1) if _FIRST_WORD.match(folded) else folded
            return self.match_pattern(f"{mark_words(term.value, self.mark)[1:]}{END_MARK}", words)
        return _match_whole_email(term) or super().match_term(term, folded)


@dataclass(frozen=True)
class PhoneSearchField(WordPrefixField):
    """The search field for a phone number in any notation."""

    def table(self, term: Term) -> str:
        """Return the customers table for presence, because the search column has no entry for a blank phone."""
        return "" if term.kind is Kind.PRESENT or not term.value else super().table(term)

    def build_condition(self, term: Term, zone: tzinfo, /) -> Q:
        """Match numbers that begin with the digits, with or without country prefix."""
        if term.kind is Kind.PRESENT or not term.value:
            return Q(phone__gt="") if term.kind is Kind.PRESENT else Q(phone="")
        return super().build_condition(term, zone)

    def match_term(self, term: Term, folded: str) -> Q:
        digits = re.sub(r"[^0-9+]", "", folded)
        if not digits:
            raise InvalidValueError(term, "is not a phone number")
        return self.match_pattern(mark_words(digits, self.mark), digits) & Q(phone__contains=digits)


@dataclass(frozen=True)
class LastOrderField(Timestamp):
    """The search field for the time of the last order. A time in 1970 means that the customer has no orders."""

    def build_condition(self, term: Term, zone: tzinfo, /) -> Q:
        """Exclude customers without orders from every comparison."""
        ordered = Q(**{f"{self.lookup}__gt": NEVER_ORDERED})
        return ordered if term.kind is Kind.PRESENT else ordered & super().build_condition(term, zone)


@dataclass(frozen=True)
class CountryField(WordPrefixField):
    """The search field for a country, by its code or the beginning of its English name.

    The name is first converted to codes, and the column is searched for these codes.
    """

    def match_term(self, term: Term, folded: str) -> Q:
        exact_match = countries.find_country(term.value) if term.kind is Kind.EXACT else None
        codes = (
            [exact_match.code]
            if exact_match
            else [country.code for country in countries.get_countries() if _has_name_prefix(country, folded)]
        )
        conditions = (self.match_pattern(mark_whole_text(code, FieldMark.COUNTRY), code.lower()) for code in codes)
        return reduce(or_, conditions, MATCH_NOTHING)


def _has_name_prefix(country: countries.Country, beginning: str) -> bool:
    name = fold_text(country.name)
    return any(part.startswith(beginning) for part in (name, *name.split()))


@dataclass(frozen=True)
class RankField:
    """A search field for a column that is indexed in ``CustomerRank``."""

    field: SearchField

    def table(self, _term: Term) -> str:
        return "ranked"

    def build_condition(self, term: Term, zone: tzinfo, /) -> Q:
        return add_shop_condition(self.field.build_condition(term, zone))


TAGS = WholeTextField("search_own", FieldMark.TAG)
SEARCH = SearchFields(
    fields={
        **{name: WordPrefixField("search_own", mark) for name, mark in MARKS.items() if name != "tags"},
        "any": AnyTextField("search_text"),
        "email": EmailSearchField("search_own", FieldMark.EMAIL),
        "phone": PhoneSearchField("search_text"),
        "id": Integer("pk"),
        "tag": TAGS,
        "customer_tag": TAGS,
        "state": Choice("state", Customer.State.values),
        "country": CountryField("search_places", FieldMark.COUNTRY),
        "province": WordPrefixField("search_places", FieldMark.PROVINCE),
        "city": WordPrefixField("search_places", FieldMark.CITY),
        "company": WordPrefixField("search_places", FieldMark.COMPANY),
        "zip": WholeTextField("search_places", FieldMark.ZIP),
        "orders_count": RankField(Integer("ranked__orders_count")),
        "total_spent": RankField(Number("ranked__total_spent")),
        "verified_email": Boolean("verified_email"),
        "tax_exempt": Boolean("tax_exempt"),
        "created_at": Timestamp("created_at"),
        "updated_at": RankField(Timestamp("ranked__updated_at")),
        "last_order_date": RankField(LastOrderField("ranked__last_order_at")),
    },
    default_fields=("any",),
)

# The sort columns for each value of ``order``. Rows with equal values are sorted by id.
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
