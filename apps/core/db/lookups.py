"""Lookups that Django does not have, and orderings that control which index the database uses."""

from collections.abc import Iterable
from typing import Any, TypeVar

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, Field, ForeignObject, Model, OrderBy, Q, QuerySet
from django.db.models.functions import Coalesce
from django.db.models.lookups import In
from django.db.models.sql.compiler import SQLCompiler

# A trigram index can only search for three or more characters. Shorter search terms are matched as prefixes.
MIN_TRIGRAM_LENGTH = 3
M = TypeVar("M", bound=Model)


# Register the lookup for foreign keys as well, because they do not inherit the lookups of ``Field``.
@ForeignObject.register_lookup
@Field.register_lookup
class InMaterialized(In):
    """The lookup ``column__among=<queryset>``: like ``in``, but the subquery is evaluated first and only once.

    For ``IN (SELECT …)``, PostgreSQL may run the subquery for each row. Without statistics, for example in a new table,
    PostgreSQL also assumes that the subquery returns only one row. SQLite always evaluates the subquery only once.
    """

    lookup_name = "among"

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, tuple[Any, ...]]:
        lhs, parameters = self.process_lhs(compiler, connection)
        rhs, rhs_parameters = self.process_rhs(compiler, connection)
        return f"{lhs} = ANY(ARRAY{rhs})", (*parameters, *rhs_parameters)


def sort_without_index(rows: QuerySet[M, Any], order: Iterable[object]) -> QuerySet[M, Any]:
    """Order rows by expressions without an index, so that the database uses an index for the filter instead."""
    columns = [(F(str(name).lstrip("-")), str(name).startswith("-")) for name in order]
    return rows.order_by(*(OrderBy(Coalesce(column, column), descending=descending) for column, descending in columns))


def in_materialized(ids: QuerySet[Model, Any], column: str = "pk") -> Q:
    """Return a filter for rows with an id from a subquery that runs only once."""
    return Q(**{f"{column}__among": ids})
