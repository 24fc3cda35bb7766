"""The types of search fields. Each type compiles a term to a condition on a column.

A resource can define its own type, because every object with ``build_condition`` is a ``SearchField``.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import tzinfo
from typing import ClassVar, Protocol

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, DecimalField, Exists, F, Func, Model, OuterRef, Q, QuerySet, Value
from django.db.models.sql.compiler import SQLCompiler

from apps.core.i18n.error_messages import NOT_A_DATE, NOT_A_NUMBER, NOT_IN_LIST
from apps.core.search_query.nodes import Comparator, Kind, Term
from apps.core.search_query.values import parse_interval, parse_number

_LOOKUPS = {
    Comparator.EQUAL: "exact",
    Comparator.LESS: "lt",
    Comparator.LESS_OR_EQUAL: "lte",
    Comparator.GREATER: "gt",
    Comparator.GREATER_OR_EQUAL: "gte",
}
_INTEGER = re.compile(r"[+-]?\d{1,19}", re.ASCII)


class InvalidValueError(ValueError):
    def __init__(self, term: Term, reason: str) -> None:
        text = term.value if len(term.value) <= 50 else term.value[:49] + "…"
        super().__init__(f"{text!r} {reason}")


class SearchField(Protocol):
    def build_condition(self, term: Term, zone: tzinfo, /) -> Q:
        """Compile a term to a condition that is never null, so that the condition can be negated."""


@dataclass(frozen=True)
class Text:
    """A text column. A term matches the complete value, or a prefix if the term ends with an asterisk. Case is ignored.

    A blank value counts as missing.
    """

    lookup: str

    def build_condition(self, term: Term, _zone: tzinfo, /) -> Q:
        present = Q(**{f"{self.lookup}__gt": ""})
        if term.kind is Kind.PRESENT:
            return present
        if term.comparator is not Comparator.EQUAL:
            raise InvalidValueError(term, "cannot be compared, because the field is a text")
        if not term.value:
            return ~present
        return Q(_AnyLookup(self.lookup, tuple(self.get_lookups(term))))

    def get_lookups(self, term: Term) -> Iterable[tuple[str, str]]:
        """Return lookups with their arguments. At least one lookup must match."""
        return (("istartswith" if term.kind is Kind.PREFIX else "iexact", term.value),)


@dataclass(frozen=True)
class Words(Text):
    """A text column in which a term matches the beginning of any word. ``after`` contains the separators of words."""

    after: str = " -"

    def get_lookups(self, term: Term) -> Iterable[tuple[str, str]]:
        return (("istartswith", term.value), *(("icontains", separator + term.value) for separator in self.after))


@dataclass(frozen=True)
class Tags(Text):
    """A text column with comma-separated tags. A term matches a tag, or the beginning of a tag."""

    separator: str = ", "

    def get_lookups(self, term: Term) -> Iterable[tuple[str, str]]:
        separator, value = self.separator, term.value
        if term.kind is Kind.PREFIX:
            return (("istartswith", value), ("icontains", separator + value))
        return (
            ("iexact", value),
            ("istartswith", value + separator),
            ("icontains", separator + value + separator),
            ("iendswith", separator + value),
        )


@dataclass(frozen=True)
class Choice:
    """A column with a fixed set of values. Case is ignored."""

    lookup: str
    choices: Iterable[str]

    def build_condition(self, term: Term, _zone: tzinfo, /) -> Q:
        if term.kind is Kind.PRESENT:
            return Q(**{f"{self.lookup}__gt": ""})
        fits = str.startswith if term.kind is Kind.PREFIX else str.__eq__
        matches = [choice for choice in self.choices if fits(choice.casefold(), term.value.casefold())]
        if term.comparator is not Comparator.EQUAL or not matches:
            raise InvalidValueError(term, NOT_IN_LIST)
        return Q(**{f"{self.lookup}__in": matches})


@dataclass(frozen=True)
class Integer:
    """A whole number of at most 64 bits."""

    lookup: str

    def build_condition(self, term: Term, zone: tzinfo, /) -> Q:
        if term.kind is Kind.PRESENT:
            return Q(**{f"{self.lookup}__isnull": False})
        if term.kind is Kind.PREFIX:
            raise InvalidValueError(term, "is a prefix, but only text fields support prefixes")
        return self.build_comparison(term, zone)

    def build_comparison(self, term: Term, _zone: tzinfo, /) -> Q:
        return Q(**{f"{self.lookup}__{_LOOKUPS[term.comparator]}": self.parse_value(term)})

    def parse_value(self, term: Term) -> object:
        if _INTEGER.fullmatch(term.value) and -(2**63) <= (value := int(term.value)) < 2**63:
            return value
        raise InvalidValueError(term, "is not an integer")


@dataclass(frozen=True)
class Number(Integer):
    """A decimal number."""

    def parse_value(self, term: Term) -> object:
        """Convert the term's text to a decimal that is not rounded.

        On SQLite, a plain ``Decimal`` would be rounded to the column's decimals, and "<5.001" would not match 5.00.
        """
        value = parse_number(term.value)
        if value is None:
            raise InvalidValueError(term, NOT_A_NUMBER)
        return Value(value, output_field=DecimalField(max_digits=80, decimal_places=40))


@dataclass(frozen=True)
class Boolean(Integer):
    """A boolean: ``true`` or ``false``, ignoring case."""

    def parse_value(self, term: Term) -> object:
        value = {"true": True, "false": False}.get(term.value.lower())
        if value is None or term.comparator is not Comparator.EQUAL:
            raise InvalidValueError(term, "is neither true nor false")
        return value


@dataclass(frozen=True)
class Timestamp(Integer):
    """A date and time. A value without a time means the whole day. A value without seconds means the whole minute."""

    def build_comparison(self, term: Term, zone: tzinfo, /) -> Q:
        try:
            start, end = parse_interval(term.value, zone)
        except ValueError:
            raise InvalidValueError(term, NOT_A_DATE) from None
        from_start, from_end = Q(**{f"{self.lookup}__gte": start}), Q(**{f"{self.lookup}__gte": end})
        before_start, before_end = Q(**{f"{self.lookup}__lt": start}), Q(**{f"{self.lookup}__lt": end})
        return {
            Comparator.EQUAL: from_start & before_end,
            Comparator.LESS: before_start,
            Comparator.LESS_OR_EQUAL: before_end,
            Comparator.GREATER: from_end,
            Comparator.GREATER_OR_EQUAL: from_start,
        }[term.comparator]


@dataclass(frozen=True)
class Related:
    """A field of related rows, which refer to the searched row with their column ``link``. At least one row must match.

    The function ``rows`` is called for each query, so that the current shop scope applies.
    """

    rows: Callable[[], QuerySet[Model]]
    link: str
    field: SearchField
    is_related: ClassVar[bool] = True

    @property
    def takes_words(self) -> bool:
        return getattr(self.field, "takes_words", False)

    def build_condition(self, term: Term, zone: tzinfo, /) -> Q:
        """Compile a term to a condition on the searched row.

        The condition is a subquery, because a join would return a row several times, and a negated join would match if
        any related row does not match. On PostgreSQL the subquery uses EXISTS, because PostgreSQL can run NOT EXISTS as
        a join, but not NOT IN. On SQLite the subquery uses IN, because SQLite then builds the list only once. Null
        links are excluded, because NOT IN is never true for a list that contains null.
        """
        matching = self.rows().filter(self.field.build_condition(term, zone)).order_by()
        if connection.vendor == "postgresql":
            return Q(Exists(matching.filter(**{self.link: OuterRef("pk")})))
        return Q(pk__in=matching.filter(**{f"{self.link}__isnull": False}).values(self.link))


class _AnyLookup(Func):
    """An expression that is true if a text column matches any of several lookups, and false if the column is null.

    SQLite rejects expressions with more than 1,000 levels. With a single expression per term, the condition has fewer
    levels than with a ``Q``, because Django would join all lookups of all terms in an OR into one chain.
    """

    output_field = BooleanField()

    def __init__(self, column: str, lookups: tuple[tuple[str, str], ...]) -> None:
        super().__init__(F(column))
        self.lookups = lookups

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, *_arguments: object, **_context: object
    ) -> tuple[str, tuple[str | int, ...]]:
        (column,) = self.get_source_expressions()
        column_sql, parameters = compiler.compile(column)
        alternatives, values = [], [*parameters]
        for name, argument in self.lookups:
            # Try several spellings, because SQLite only folds the case of ASCII letters.
            for spelling in _spellings(argument) if connection.vendor == "sqlite" else (argument,):
                sql, parameters = compiler.compile(column.get_lookup(name)(column, spelling))
                alternatives.append(sql)
                values.extend(parameters)
        return f"({column_sql} IS NOT NULL AND ({' OR '.join(alternatives)}))", tuple(values)


def _spellings(text: str) -> Iterable[str]:
    return (text,) if text.isascii() else dict.fromkeys((text, text.lower(), text.upper(), text.title()))
