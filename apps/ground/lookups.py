"""Lookups that Django lacks, and which index they leave to be used."""

from collections.abc import Iterable
from typing import Any, TypeVar

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, Field, ForeignObject, Model, OrderBy, Q, QuerySet
from django.db.models.functions import Coalesce
from django.db.models.lookups import In
from django.db.models.sql.compiler import SQLCompiler

# An index of the parts of a text knows parts of three characters; of shorter words it knows beginnings.
SHORTEST_PART = 3
M = TypeVar("M", bound=Model)


# Foreign keys do not take over the lookups of plain fields.
@ForeignObject.register_lookup
@Field.register_lookup
class Among(In):
    """``column__among=<queryset>``: in a list of ids that the database makes once, before anything else.

    Into ``IN (SELECT …)`` PostgreSQL may look again for each row that it compares, and without statistics, as in tables
    that have just been filled, it believes that there is one. SQLite makes such a list once by itself.
    """

    lookup_name = "among"

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, tuple[Any, ...]]:
        """An array out of the subquery."""
        left, parameters = self.process_lhs(compiler, connection)
        right, more = self.process_rhs(compiler, connection)
        return f"{left} = ANY(ARRAY{right})", (*parameters, *more)


def sorted_apart(rows: QuerySet[M, Any], order: Iterable[object]) -> QuerySet[M, Any]:
    """Rows in an order that an expression hides from the indexes, so that those of the filter are used.

    Args:
        rows: Those that fit.
        order: Names of columns, with a minus in front where they fall.
    """
    names = [str(name) for name in order]
    return rows.order_by(*(OrderBy(_hidden(name), descending=name.startswith("-")) for name in names))


def _hidden(name: str) -> Coalesce:
    column = F(name.lstrip("-"))
    return Coalesce(column, column)


def among(ids: QuerySet[Model, Any], column: str = "pk") -> Q:
    """Rows whose column is in a subquery of ids, which is run once."""
    return Q(**{f"{column}__among": ids})
