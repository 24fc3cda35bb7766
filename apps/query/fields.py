"""The types of search fields: how a term becomes a condition on a column.

A resource may add a type of its own: anything with ``condition`` is a ``SearchField``.
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

from apps.ground.phrases import NOT_A_DATE, NOT_A_NUMBER, NOT_IN_LIST
from apps.query.nodes import Comparator, Kind, Term
from apps.query.values import interval, number

_LOOKUPS = {
    Comparator.EQUAL: "exact",
    Comparator.LESS: "lt",
    Comparator.LESS_OR_EQUAL: "lte",
    Comparator.GREATER: "gt",
    Comparator.GREATER_OR_EQUAL: "gte",
}
_INTEGER = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


class MisfitError(ValueError):
    """The value does not fit the type of the field."""

    def __init__(self, term: Term, reason: str) -> None:
        text = term.value if len(term.value) <= 50 else term.value[:49] + "…"
        super().__init__(f"{text!r} {reason}")


class SearchField(Protocol):
    """A type of search field."""

    def condition(self, term: Term, zone: tzinfo, /) -> Q:
        """Compile a term to a condition on the searched row that is true or false, never null: NOT may stand before it.

        Args:
            term: The term; its field name is of no interest here, a bare word has none.
            zone: Where dates without an offset are meant.

        Raises:
            MisfitError: The value does not fit.
        """


@dataclass(frozen=True)
class Text:
    """A text that is matched as a whole, or by a prefix where the query says so; case never counts.

    An empty text counts as absent.
    """

    lookup: str

    def condition(self, term: Term, _zone: tzinfo, /) -> Q:
        """Compile a term to a condition on the searched row."""
        present = Q(**{f"{self.lookup}__gt": ""})
        if term.kind is Kind.PRESENT:
            return present
        if term.comparator is not Comparator.EQUAL:
            raise MisfitError(term, "cannot be compared: the field is a text")
        if not term.value:
            return ~present
        return Q(_AnyLookup(self.lookup, tuple(self.alternatives(term))))

    def alternatives(self, term: Term) -> Iterable[tuple[str, str]]:
        """Give the lookups, each with its argument, of which one must hold."""
        return (("istartswith" if term.kind is Kind.PREFIX else "iexact", term.value),)


@dataclass(frozen=True)
class Words(Text):
    """A text that is matched from the beginning of any of its words.

    Attributes:
        after: The characters that a word may follow.
    """

    after: str = " -"

    def alternatives(self, term: Term) -> Iterable[tuple[str, str]]:
        """Give the lookups for the first word and for those after each separator."""
        return (("istartswith", term.value), *(("icontains", separator + term.value) for separator in self.after))


@dataclass(frozen=True)
class Tags(Text):
    """Keywords in one text, as the interface writes them; a term names one, or the beginning of one."""

    separator: str = ", "

    def alternatives(self, term: Term) -> Iterable[tuple[str, str]]:
        """Give the lookups for the only, first, middle and last keyword."""
        cut, value = self.separator, term.value
        if term.kind is Kind.PREFIX:
            return (("istartswith", value), ("icontains", cut + value))
        return (
            ("iexact", value),
            ("istartswith", value + cut),
            ("icontains", cut + value + cut),
            ("iendswith", cut + value),
        )


@dataclass(frozen=True)
class Choice:
    """One of a few words, written in any case."""

    lookup: str
    choices: Iterable[str]

    def condition(self, term: Term, _zone: tzinfo, /) -> Q:
        """Compile a term to a condition on the searched row."""
        if term.kind is Kind.PRESENT:
            return Q(**{f"{self.lookup}__gt": ""})
        fits = str.startswith if term.kind is Kind.PREFIX else str.__eq__
        chosen = [choice for choice in self.choices if fits(choice.casefold(), term.value.casefold())]
        if term.comparator is not Comparator.EQUAL or not chosen:
            raise MisfitError(term, NOT_IN_LIST)
        return Q(**{f"{self.lookup}__in": chosen})


@dataclass(frozen=True)
class Integer:
    """A whole number of at most 64 bits."""

    lookup: str

    def condition(self, term: Term, zone: tzinfo, /) -> Q:
        """Compile a term to a condition on the searched row."""
        if term.kind is Kind.PRESENT:
            return Q(**{f"{self.lookup}__isnull": False})
        if term.kind is Kind.PREFIX:
            raise MisfitError(term, "is a prefix, which only a text can have")
        return self.compare(term, zone)

    def compare(self, term: Term, _zone: tzinfo, /) -> Q:
        """Compile a term with a whole value."""
        return Q(**{f"{self.lookup}__{_LOOKUPS[term.comparator]}": self.read(term)})

    def read(self, term: Term) -> object:
        """Turn the value's text into what the column is compared with."""
        if _INTEGER.fullmatch(term.value) and -(2**63) <= (value := int(term.value)) < 2**63:
            return value
        raise MisfitError(term, "is not an integer")


@dataclass(frozen=True)
class Number(Integer):
    """A decimal number."""

    def read(self, term: Term) -> object:
        """Turn the value's text into a decimal of its own precision.

        A plain ``Decimal`` would be rounded to the column's places on SQLite: "<5.001" would then leave out 5.00.
        """
        value = number(term.value)
        if value is None:
            raise MisfitError(term, NOT_A_NUMBER)
        return Value(value, output_field=DecimalField(max_digits=80, decimal_places=40))


@dataclass(frozen=True)
class Boolean(Integer):
    """``true`` or ``false``, in any case."""

    def read(self, term: Term) -> object:
        """Turn the value's text into a truth value, which has no order."""
        value = {"true": True, "false": False}.get(term.value.lower())
        if value is None or term.comparator is not Comparator.EQUAL:
            raise MisfitError(term, "is neither true nor false")
        return value


@dataclass(frozen=True)
class Day(Integer):
    """A date without a time."""

    def read(self, term: Term) -> object:
        """Turn the value's text into a date."""
        try:
            if _DAY.fullmatch(term.value):
                return date.fromisoformat(term.value)
        except ValueError:
            pass
        raise MisfitError(term, NOT_A_DATE)


@dataclass(frozen=True)
class Moment(Integer):
    """An instant. A value lasts as long as it is coarse: a date is the whole day in the given zone."""

    def compare(self, term: Term, zone: tzinfo, /) -> Q:
        """Compile a term with a whole value."""
        try:
            start, end = interval(term.value, zone)
        except ValueError:
            raise MisfitError(term, NOT_A_DATE) from None
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
    """A field of rows that point to the searched one, of which any may match.

    Attributes:
        rows: Gives the related rows; called per query, so that tenancy scopes hold.
        link: Their column that holds the searched row's primary key.
        field: What is compared there.
    """

    rows: Callable[[], QuerySet[Model]]
    link: str
    field: SearchField
    is_related: ClassVar[bool] = True

    @property
    def takes_words(self) -> bool:
        """Whether a value can have several words."""
        return getattr(self.field, "takes_words", False)

    def condition(self, term: Term, zone: tzinfo, /) -> Q:
        """Compile a term to a condition on the searched row.

        A subquery and no join: a join would repeat the row, and its negation would ask for "any that does not match".
        PostgreSQL is asked with EXISTS, whose negation it can join; a NOT IN of many rows it compares one by one.
        SQLite is asked with IN, for which it makes the list once. A null link would make every NOT IN unknown.
        """
        matching = self.rows().filter(self.field.condition(term, zone)).order_by()
        if connection.vendor == "postgresql":
            return Q(Exists(matching.filter(**{self.link: OuterRef("pk")})))
        return Q(pk__in=matching.filter(**{f"{self.link}__isnull": False}).values(self.link))


class _AnyLookup(Func):
    """Whether a text column passes any of some lookups; false and never null where the column is null.

    One expression per term keeps it one node of the condition: SQLite refuses expressions deeper than 1,000, and
    Django would flatten all alternatives of all terms under OR into one chain.
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
            # SQLite folds the case of ASCII letters only.
            for spelling in _spellings(argument) if connection.vendor == "sqlite" else (argument,):
                sql, parameters = compiler.compile(column.get_lookup(name)(column, spelling))
                alternatives.append(sql)
                values.extend(parameters)
        return f"({column_sql} IS NOT NULL AND ({' OR '.join(alternatives)}))", tuple(values)


def _spellings(text: str) -> Iterable[str]:
    return (text,) if text.isascii() else dict.fromkeys((text, text.lower(), text.upper(), text.title()))
