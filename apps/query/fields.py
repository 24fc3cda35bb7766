"""The types of search fields: each compiles a term to a condition on a column.

A resource may add its own type: every object with ``build_condition`` is a ``SearchField``.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, tzinfo
from typing import ClassVar, Protocol

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, DecimalField, Exists, F, Func, Model, OuterRef, Q, QuerySet, Value
from django.db.models.sql.compiler import SQLCompiler

from apps.ground.error_messages import NOT_A_DATE, NOT_A_NUMBER, NOT_IN_LIST
from apps.query.nodes import Comparator, Kind, Term
from apps.query.values import parse_interval, parse_number

_LOOKUPS = {
    Comparator.EQUAL: "exact",
    Comparator.LESS: "lt",
    Comparator.LESS_OR_EQUAL: "lte",
    Comparator.GREATER: "gt",
    Comparator.GREATER_OR_EQUAL: "gte",
}
_INTEGER = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


class InvalidValueError(ValueError):
    """Raised when a value does not fit the type of the field."""

    def __init__(self, term: Term, reason: str) -> None:
        text = term.value if len(term.value) <= 50 else term.value[:49] + "…"
        super().__init__(f"{text!r} {reason}")


class SearchField(Protocol):
    """A type of search field."""

    def build_condition(self, term: Term, zone: tzinfo, /) -> Q:
        """Compile a term to a condition that is true or false but never null, so that it can be negated.

        Args:
            term: The term; its field name is not used.
            zone: The time zone of dates without an offset.

        Raises:
            InvalidValueError: The value does not fit.
        """


@dataclass(frozen=True)
class Text:
    """A text that is matched as a whole, or by prefix if the query says so; case is ignored.

    An empty text counts as absent.
    """

    lookup: str

    def build_condition(self, term: Term, _zone: tzinfo, /) -> Q:
        """Compile a term to a condition on the searched row."""
        present = Q(**{f"{self.lookup}__gt": ""})
        if term.kind is Kind.PRESENT:
            return present
        if term.comparator is not Comparator.EQUAL:
            raise InvalidValueError(term, "cannot be compared: the field is a text")
        if not term.value:
            return ~present
        return Q(_AnyLookup(self.lookup, tuple(self.get_lookups(term))))

    def get_lookups(self, term: Term) -> Iterable[tuple[str, str]]:
        """Return lookups with their arguments; at least one of them must match."""
        return (("istartswith" if term.kind is Kind.PREFIX else "iexact", term.value),)


@dataclass(frozen=True)
class Words(Text):
    """A text that is matched from the beginning of any of its words.

    Attributes:
        after: The characters that separate words.
    """

    after: str = " -"

    def get_lookups(self, term: Term) -> Iterable[tuple[str, str]]:
        """Return the lookups for the first word and for the words after each separator."""
        return (("istartswith", term.value), *(("icontains", separator + term.value) for separator in self.after))


@dataclass(frozen=True)
class Tags(Text):
    """Keywords in one text, as the interface writes them; a term matches a keyword or its beginning."""

    separator: str = ", "

    def get_lookups(self, term: Term) -> Iterable[tuple[str, str]]:
        """Return the lookups for each position of the keyword: alone, first, in the middle, and last."""
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
    """One of a few values, ignoring case."""

    lookup: str
    choices: Iterable[str]

    def build_condition(self, term: Term, _zone: tzinfo, /) -> Q:
        """Compile a term to a condition on the searched row."""
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
        """Compile a term to a condition on the searched row."""
        if term.kind is Kind.PRESENT:
            return Q(**{f"{self.lookup}__isnull": False})
        if term.kind is Kind.PREFIX:
            raise InvalidValueError(term, "is a prefix, which only a text can have")
        return self.build_comparison(term, zone)

    def build_comparison(self, term: Term, _zone: tzinfo, /) -> Q:
        """Compile a comparison with a complete value, which is not a prefix."""
        return Q(**{f"{self.lookup}__{_LOOKUPS[term.comparator]}": self.parse_value(term)})

    def parse_value(self, term: Term) -> object:
        """Convert the value's text to the value that the column is compared with."""
        if _INTEGER.fullmatch(term.value) and -(2**63) <= (value := int(term.value)) < 2**63:
            return value
        raise InvalidValueError(term, "is not an integer")


@dataclass(frozen=True)
class Number(Integer):
    """A decimal number."""

    def parse_value(self, term: Term) -> object:
        """Convert the value's text to a decimal with its own precision.

        SQLite would round a plain ``Decimal`` to the column's decimals: "<5.001" would then exclude 5.00.
        """
        value = parse_number(term.value)
        if value is None:
            raise InvalidValueError(term, NOT_A_NUMBER)
        return Value(value, output_field=DecimalField(max_digits=80, decimal_places=40))


@dataclass(frozen=True)
class Boolean(Integer):
    """``true`` or ``false``, ignoring case."""

    def parse_value(self, term: Term) -> object:
        """Convert the value's text to a boolean, which only supports equality."""
        value = {"true": True, "false": False}.get(term.value.lower())
        if value is None or term.comparator is not Comparator.EQUAL:
            raise InvalidValueError(term, "is neither true nor false")
        return value


@dataclass(frozen=True)
class CalendarDate(Integer):
    """A date without a time."""

    def parse_value(self, term: Term) -> object:
        """Convert the value's text to a date."""
        try:
            if _DAY.fullmatch(term.value):
                return date.fromisoformat(term.value)
        except ValueError:
            pass
        raise InvalidValueError(term, NOT_A_DATE)


@dataclass(frozen=True)
class Timestamp(Integer):
    """A time. A value covers its whole precision: a date means the whole day in the time zone."""

    def build_comparison(self, term: Term, zone: tzinfo, /) -> Q:
        """Compile a term with a complete value."""
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
    """A field of rows that refer to the searched row; any of them may match.

    Attributes:
        rows: Returns the related rows; called per query, so that tenancy scopes apply.
        link: The column of the related rows that holds the searched row's primary key.
        field: The compared field of the related rows.
    """

    rows: Callable[[], QuerySet[Model]]
    link: str
    field: SearchField
    is_related: ClassVar[bool] = True

    @property
    def takes_words(self) -> bool:
        """Return True if a value can have several words."""
        return getattr(self.field, "takes_words", False)

    def build_condition(self, term: Term, zone: tzinfo, /) -> Q:
        """Compile a term to a condition on the searched row.

        The condition is a subquery, not a join: a join would repeat the row, and its negation would mean "any row that
        does not match". PostgreSQL gets EXISTS: PostgreSQL can run the negation as a join, but would compare a NOT IN
        row by row. SQLite gets IN and builds the list once. A null link would make every NOT IN unknown.
        """
        matching = self.rows().filter(self.field.build_condition(term, zone)).order_by()
        if connection.vendor == "postgresql":
            return Q(Exists(matching.filter(**{self.link: OuterRef("pk")})))
        return Q(pk__in=matching.filter(**{f"{self.link}__isnull": False}).values(self.link))


class _AnyLookup(Func):
    """True if a text column passes any of some lookups; false and never null if the column is null.

    One expression per term keeps the condition flat: SQLite rejects expressions deeper than 1,000, and Django would
    flatten all alternatives of all terms of an OR into one chain.
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
            # SQLite only folds the case of ASCII letters.
            for spelling in _spellings(argument) if connection.vendor == "sqlite" else (argument,):
                sql, parameters = compiler.compile(column.get_lookup(name)(column, spelling))
                alternatives.append(sql)
                values.extend(parameters)
        return f"({column_sql} IS NOT NULL AND ({' OR '.join(alternatives)}))", tuple(values)


def _spellings(text: str) -> Iterable[str]:
    return (text,) if text.isascii() else dict.fromkeys((text, text.lower(), text.upper(), text.title()))
