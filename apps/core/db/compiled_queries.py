"""Queries that the ORM compiles only once, although they run many times.

The ORM takes longer to compile a query than most databases take to run the query. A frequent query is therefore
compiled once, with placeholders for its arguments. PostgreSQL prepares the statement. On SQLite, the driver caches the
statement.

A statement is compiled in the scope of a placeholder shop, so the shop condition added by django-scopes becomes an
argument. Each run passes the current shop as this argument, so a statement cannot read rows of another shop.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from threading import Lock
from typing import Any, Generic, TypeVar

import orjson
from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Expression, Field, ForeignObject, JSONField, QuerySet
from django.db.models.expressions import Col
from django.db.models.lookups import Exact, Lookup
from django.db.models.sql.compiler import SQLCompiler
from django_scopes import scope

from apps.core.db.prepared_sql import Rows, StatementCall, execute_prepared
from apps.core.models import M
from apps.core.tenancy.scope import get_current_shop
from apps.core.tenancy.shop_owned import ShopOwned

_SHOP = -(2**62)
_FIRST = _SHOP + 1

# The type of the rows that a query returns.
R = TypeVar("R")
Owned = TypeVar("Owned", bound=ShopOwned)
# A parameter of a compiled query: the source (-1 for the shop, an argument's index, or None for a constant), the
# adapter, and the value of a constant.
Parameter = tuple[int | None, Callable[[Any], object], object]


class IdList(list[int]):
    """A list of ids as one argument of a statement, for the ``any`` lookup."""


_ANY = {"postgresql": "= ANY(%s::bigint[])", "sqlite": "IN (SELECT value FROM json_each(%s))"}


def get_any_operator() -> str:
    """Return the SQL operator that compares a column with the result of ``bind_ids``."""
    return _ANY[connection.vendor]


# Register the lookup for foreign keys as well, because they do not inherit the lookups of ``Field``.
@ForeignObject.register_lookup
@Field.register_lookup
class AnyOf(Lookup[IdList]):
    """The lookup ``column__any=IdList([...])``, like ``in``. The SQL does not depend on the number of ids."""

    lookup_name = "any"
    prepare_rhs = False

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, tuple[str | int, ...]]:
        """Render SQL. The ids are passed as an array, or as JSON on SQLite, which has no arrays."""
        lhs, parameters = self.process_lhs(compiler, connection)
        return f"{lhs} {_ANY[connection.vendor]}", (*parameters, self.rhs)

    def get_db_prep_lookup(self, value: Any, connection: BaseDatabaseWrapper) -> tuple[str, tuple[str | int, ...]]:
        """Return the list unchanged, because it is only adapted when the statement runs."""
        return "%s", (value,)


def bind_ids(ids: Sequence[int]) -> list[int] | str:
    """Convert ids to the parameter of the ``any`` lookup."""
    return list(ids) if connection.vendor == "postgresql" else "[" + ",".join(map(str, ids)) + "]"


class UnindexedExact(Lookup[int]):
    """The condition ``column = number`` on an expression that no index has, so the database must use another condition.

    The plan of a prepared statement is the same for all shops and ids, so PostgreSQL has to guess how many rows match.
    The guess for a few ids of a list is often higher than the guess for a whole shop, and an index that begins with the
    shop would then be used to read all rows of the shop.
    """

    lookup_name = "unindexed"
    prepare_rhs = False

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, tuple[str | int, ...]]:
        lhs, parameters = self.process_lhs(compiler, connection)
        # As with other lookups, the parameter's type must not depend on the size of the number.
        value = self.lhs.output_field.get_db_prep_value(self.rhs, connection)
        return f"{lhs} + 0 = %s", (*parameters, value)


class CompiledQuery(Generic[R]):
    """A query that is compiled when it runs for the first time.

    ``build`` builds the queryset (ending in ``values_list``) from one placeholder per argument. ``kinds`` are the types
    of the arguments: ``int`` for a number, ``list`` for ids of an ``any`` lookup.

    Queries with arguments find rows by these arguments and then check the shop (``UnindexedExact``). Pages of a list
    are the exception: they follow an index that begins with the shop.
    """

    def __init__(self, build: Callable[..., QuerySet[M, R]], *kinds: type) -> None:
        self._build = build
        self._kinds = kinds
        self._lock = Lock()
        self._compiled: _Compiled[R] | None = None

    def fetch(self, *arguments: object) -> Sequence[R]:
        """Run the statement in the current shop and return all rows."""
        compiled = self._compiled or self._ensure_compiled()
        return compiled.convert(execute_prepared(compiled.sql, compiled.values(arguments)))

    def build_call(self, *arguments: object) -> StatementCall:
        """Return the statement and its parameters for the current shop, so that it can run in a batch."""
        compiled = self._ensure_compiled()
        return StatementCall(compiled.sql, compiled.values(arguments))

    def convert(self, rows: Rows) -> Sequence[R]:
        return self._ensure_compiled().convert(rows)

    def _ensure_compiled(self) -> "_Compiled[R]":
        if self._compiled is None:
            with self._lock:
                self._compiled = self._compiled or self._compile()
        return self._compiled

    def _compile(self) -> "_Compiled[R]":
        sentinels: list[IdList | int] = [
            IdList([_FIRST + index]) if kind is list else _FIRST + index for index, kind in enumerate(self._kinds)
        ]
        with scope(shop=apps.get_model("shops.Shop")(pk=_SHOP)):
            queryset = self._build(*sentinels)
        if list in self._kinds or (self._kinds and not queryset.query.is_sliced):
            conditions: list[Any] = queryset.query.where.children
            conditions[:] = [
                UnindexedExact(item.lhs, _SHOP) if isinstance(item, Exact) and item.rhs == _SHOP else item
                for item in conditions
            ]
        compiler = queryset.query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        selected = [expression for expression, *_ in compiler.select[: compiler.col_count]]
        return _Compiled(sql, [_build_parameter(value, sentinels) for value in parameters], compiler, selected)


def _build_parameter(value: object, sentinels: Sequence[IdList | int]) -> Parameter:
    """Build a parameter: the shop, the argument that a sentinel represents, or a constant."""
    if isinstance(value, IdList):
        return value[0] - _FIRST, bind_ids, None
    if isinstance(value, int) and not isinstance(value, bool):
        # psycopg chooses the database type of an integer by its size. A fixed wrapper ensures that the type, and
        # therefore the prepared statement, is the same for all values.
        wrap = type(value)
        if value == _SHOP:
            return -1, wrap, None
        for index, sentinel in enumerate(sentinels):
            if not isinstance(sentinel, IdList) and value == sentinel:
                return index, wrap, None
    return None, int, value


class _Compiled(Generic[R]):
    """A query's SQL, the sources of its parameters, and its converters."""

    def __init__(
        self, sql: str, parameters: list[Parameter], compiler: SQLCompiler, selected: list[Expression]
    ) -> None:
        self.sql = sql
        self.parameters = parameters
        self._compiler = compiler
        converters = compiler.get_converters(selected)
        self._json_columns = [index for index, (_, column) in converters.items() if _has_plain_json(column)]
        self._converters = {index: item for index, item in converters.items() if index not in self._json_columns}

    def values(self, arguments: Sequence[object]) -> list[object]:
        shop_id = get_current_shop().pk
        return [
            constant if slot is None else wrap(shop_id if slot < 0 else arguments[slot])
            for slot, wrap, constant in self.parameters
        ]

    def convert(self, rows: Rows) -> Sequence[R]:
        if not self._json_columns and not self._converters:
            return rows
        lists: Iterable[list[Any]] = list(map(list, rows))
        for index in self._json_columns:
            for row in lists:
                row[index] = _load_json(row[index])
        if self._converters:
            lists = self._compiler.apply_converters(lists, self._converters)
        converted: Rows = list(map(tuple, lists))
        return converted


def _has_plain_json(column: Expression) -> bool:
    """Return True for columns with JSON that Django would load with ``json.loads``."""
    if not isinstance(column, Col) or not isinstance(column.target, JSONField):
        return False
    return type(column.target).from_db_value is JSONField.from_db_value and column.target.decoder is None


_LONG_NUMBER = re.compile(r"\d{18}")


def _load_json(text: str | None) -> object:
    """Load a JSON value of the database, in a third of the time that Django needs.

    orjson would round numbers with more than 64 bits, and rejects some values that SQLite may contain.
    """
    if text is None:
        return None
    if len(text) > 18 and _LONG_NUMBER.search(text):
        return json.loads(text)
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)


class CompiledModelQuery(Generic[Owned]):
    """A ``CompiledQuery`` that returns model instances."""

    def __init__(self, model: type[Owned], build: Callable[..., QuerySet[Owned]], *kinds: type) -> None:
        self._model = model
        self._names = [field.attname for field in model._meta.concrete_fields]
        self._statement: CompiledQuery[tuple[object, ...]] = CompiledQuery(
            lambda *arguments: build(*arguments).values_list(*self._names), *kinds
        )

    def fetch(self, *arguments: object) -> list[Owned]:
        return self._build_instances(self._statement.fetch(*arguments))

    def build_returned_instances(self, rows: Rows) -> list[Owned]:
        """Create instances from rows that a statement returned with ``build_returning_clause``."""
        return self._build_instances(self._statement.convert(rows))

    def _build_instances(self, rows: Sequence[tuple[object, ...]]) -> list[Owned]:
        return [self._model.from_db(DEFAULT_DB_ALIAS, self._names, row) for row in rows]


def build_returning_clause(model: type[ShopOwned]) -> str:
    """Return the clause that makes raw SQL return whole changed rows, for ``build_returned_instances``."""
    return "RETURNING " + ", ".join(f'"{field.column}"' for field in model._meta.concrete_fields)


def get_row(model: type[Owned], pk: int) -> Owned | None:
    """Return the current shop's row with this id, or None if it does not exist. The statement is only compiled once."""
    return next(iter(_by_id(model).fetch(pk)), None)


@cache
def _by_id(model: type[Owned]) -> CompiledModelQuery[Owned]:
    return CompiledModelQuery(model, lambda pk: model.objects.filter(pk=pk), int)
