"""Lookups that Django lacks, and orderings that control which index is used."""

from collections.abc import Iterable
from typing import Any, TypeVar

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, Field, ForeignObject, Model, OrderBy, Q, QuerySet
from django.db.models.functions import Coalesce
from django.db.models.lookups import In
from django.db.models.sql.compiler import SQLCompiler

# A trigram index supports parts of at least three characters; shorter words are matched as prefixes.
MIN_TRIGRAM_LENGTH = 3
M = TypeVar("M", bound=Model)


# Foreign keys do not inherit the lookups of plain fields.
@ForeignObject.register_lookup
@Field.register_lookup
class InMaterialized(In):
    """The lookup ``column__among=<queryset>``: in a list of ids that the database computes first, and only once.

    For ``IN (SELECT …)``, PostgreSQL may run the subquery for each compared row, and without statistics (as in tables
    that were just filled) it assumes one result row. SQLite computes such a list once by itself.
    """

    lookup_name = "among"

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, tuple[Any, ...]]:
        """Render SQL for PostgreSQL: an array from the subquery."""
        lhs, parameters = self.process_lhs(compiler, connection)
        rhs, rhs_parameters = self.process_rhs(compiler, connection)
        return f"{lhs} = ANY(ARRAY{rhs})", (*parameters, *rhs_parameters)


def sort_without_index(rows: QuerySet[M, Any], order: Iterable[object]) -> QuerySet[M, Any]:
    """Order rows by expressions that no index matches, so that the database uses the filter's index.

    Args:
        rows: The matching rows.
        order: Column names, with a minus for descending.
    """
    names = [str(name) for name in order]
    return rows.order_by(*(OrderBy(_hide_from_indexes(name), descending=name.startswith("-")) for name in names))


def _hide_from_indexes(name: str) -> Coalesce:
    column = F(name.lstrip("-"))
    return Coalesce(column, column)


def in_materialized(ids: QuerySet[Model, Any], column: str = "pk") -> Q:
    """Return a filter for rows with the column in a subquery of ids, which runs once."""
    return Q(**{f"{column}__among": ids})
