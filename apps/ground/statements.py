"""SQL that the ORM compiles once and that runs many times.

Compiling a query takes the ORM longer than most databases take to run it, so a hot query is built once, with
placeholders where its arguments go, and kept as text: prepared on PostgreSQL, cached by the driver on SQLite.

A statement is compiled inside the scope of a placeholder shop, so the condition that django-scopes adds becomes an
argument like the others, and each run fills in the shop of its own scope. A statement can thus not see another shop.
"""

from collections.abc import Callable, Sequence
from functools import cache
from threading import Lock
from typing import Any, Generic, TypeVar

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Expression, Field, ForeignObject, QuerySet
from django.db.models.lookups import Lookup
from django.db.models.sql.compiler import SQLCompiler
from django_scopes import scope

from apps.ground.rows import M, ShopOwned
from apps.ground.sql import Call, Rows, execute
from apps.ground.tenancy import current_shop

_SHOP = -(2**62)
_FIRST = _SHOP + 1

# A row.
R = TypeVar("R")
Owned = TypeVar("Owned", bound=ShopOwned)
# Where it comes from (-1 for the shop, an argument's index, or None for a constant), what adapts it, and the constant.
Parameter = tuple[int | None, Callable[[Any], object], object]


class Ids(list[int]):
    """A list of ids as one argument of a statement, for the ``any`` lookup."""


_ANY = {"postgresql": "= ANY(%s::bigint[])", "sqlite": "IN (SELECT value FROM json_each(%s))"}


def any_of() -> str:
    """What follows a column in a written statement that is for some ids, which go through ``bind_ids``."""
    return _ANY[connection.vendor]


# Foreign keys do not take over the lookups of plain fields.
@ForeignObject.register_lookup
@Field.register_lookup
class AnyOf(Lookup[Ids]):
    """``column__any=Ids([...])``: equals one of the ids, with a statement that is the same for any number of them."""

    lookup_name = "any"
    prepare_rhs = False

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, tuple[str | int, ...]]:
        """SQLite has no arrays: the ids travel as a JSON text."""
        left, parameters = self.process_lhs(compiler, connection)
        return f"{left} {_ANY['sqlite']}", (*parameters, self.rhs)

    def as_postgresql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper
    ) -> tuple[str, tuple[str | int, ...]]:
        """PostgreSQL takes them as an array."""
        left, parameters = self.process_lhs(compiler, connection)
        return f"{left} {_ANY['postgresql']}", (*parameters, self.rhs)

    def get_db_prep_lookup(self, value: Any, connection: BaseDatabaseWrapper) -> tuple[str, tuple[str | int, ...]]:
        """The list itself; it is adapted when the statement runs."""
        return "%s", (value,)


def bind_ids(ids: Sequence[int]) -> list[int] | str:
    """The ids in the form in which the database takes them for ``any``."""
    return list(ids) if connection.vendor == "postgresql" else "[" + ",".join(map(str, ids)) + "]"


class Statement(Generic[R]):
    """One query, compiled at its first run.

    Args:
        build: Makes the queryset (ending in ``values_list``) out of one placeholder per argument.
        kinds: The arguments in order: ``int`` for a number, ``list`` for ids given to ``any``.
    """

    def __init__(self, build: Callable[..., QuerySet[M, R]], *kinds: type) -> None:
        """Remember how to build it; nothing is compiled yet."""
        self._build = build
        self._kinds = kinds
        self._lock = Lock()
        self._compiled: _Compiled[R] | None = None

    def fetch(self, *arguments: object) -> Sequence[R]:
        """Run it with these arguments in the current shop; all rows."""
        compiled = self._compiled or self._ready()
        return compiled.convert(execute(compiled.sql, compiled.values(arguments)))

    def call(self, *arguments: object) -> Call:
        """The statement with these arguments in the current shop, for a batch."""
        compiled = self._ready()
        return Call(compiled.sql, compiled.values(arguments))

    def convert(self, rows: Rows) -> Sequence[R]:
        """The query's columns as the database gave them, with their own converters applied."""
        return self._ready().convert(rows)

    def _ready(self) -> "_Compiled[R]":
        if self._compiled is None:
            with self._lock:
                self._compiled = self._compiled or self._compile()
        return self._compiled

    def _compile(self) -> "_Compiled[R]":
        sentinels: list[Ids | int] = [
            Ids([_FIRST + index]) if kind is list else _FIRST + index for index, kind in enumerate(self._kinds)
        ]
        with scope(shop=apps.get_model("shops.Shop")(pk=_SHOP)):
            queryset = self._build(*sentinels)
        compiler = queryset.query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        selected = [expression for expression, *_ in compiler.select[: compiler.col_count]]
        return _Compiled(sql, [_slot(value, sentinels) for value in parameters], compiler, selected)


def _slot(value: object, sentinels: Sequence[Ids | int]) -> Parameter:
    """Where a parameter comes from: -1 for the shop, the argument's index, or None for a constant."""
    if isinstance(value, Ids):
        return value[0] - _FIRST, bind_ids, None
    if isinstance(value, int) and not isinstance(value, bool):
        # psycopg marks integers with their size; the marks keep one prepared statement for all values.
        wrap = type(value) if type(value) is not int else int
        if value == _SHOP:
            return -1, wrap, None
        for index, sentinel in enumerate(sentinels):
            if not isinstance(sentinel, Ids) and value == sentinel:
                return index, wrap, None
    return None, int, value


class _Compiled(Generic[R]):
    """A query's text, where its parameters come from, and how its rows become Python values."""

    def __init__(
        self, sql: str, parameters: list[Parameter], compiler: SQLCompiler, selected: list[Expression]
    ) -> None:
        self.sql = sql
        self.parameters = parameters
        self._compiler = compiler
        self._converters = compiler.get_converters(selected)

    def values(self, arguments: Sequence[object]) -> list[object]:
        """What stands in the statement's places: the current shop, the arguments, and constants."""
        shop_id = current_shop().pk
        return [
            constant if slot is None else wrap(shop_id if slot < 0 else arguments[slot])
            for slot, wrap, constant in self.parameters
        ]

    def convert(self, rows: Rows) -> Sequence[R]:
        """The rows with the columns' own converters applied."""
        if not self._converters:
            return rows
        converted: Rows = [tuple(row) for row in self._compiler.apply_converters(rows, self._converters)]
        return converted


class Instances(Generic[Owned]):
    """A ``Statement`` whose rows are instances of a model.

    Args:
        model: The model.
        build: Makes the queryset of the model out of one placeholder per argument.
        kinds: The arguments, as of a ``Statement``.
    """

    def __init__(self, model: type[Owned], build: Callable[..., QuerySet[Owned]], *kinds: type) -> None:
        """Remember how to build it; nothing is compiled yet."""
        self._model = model
        self._names = [field.attname for field in model._meta.concrete_fields]
        self._statement: Statement[tuple[object, ...]] = Statement(
            lambda *arguments: build(*arguments).values_list(*self._names), *kinds
        )

    def fetch(self, *arguments: object) -> list[Owned]:
        """Run it with these arguments in the current shop; all rows."""
        return self._made(self._statement.fetch(*arguments))

    def returned(self, rows: Rows) -> list[Owned]:
        """The instances of rows that a statement returned by the model's ``returning``."""
        return self._made(self._statement.convert(rows))

    def _made(self, rows: Sequence[tuple[object, ...]]) -> list[Owned]:
        return [self._model.from_db(DEFAULT_DB_ALIAS, self._names, row) for row in rows]


def returning(model: type[ShopOwned]) -> str:
    """What a written statement ends with to give the whole rows that it changed, see ``Instances.returned``."""
    return "RETURNING " + ", ".join(f'"{field.column}"' for field in model._meta.concrete_fields)


def row_of(model: type[Owned], pk: int) -> Owned | None:
    """The current shop's row with an id, by a statement that is compiled once; None where there is none."""
    return next(iter(_by_id(model).fetch(pk)), None)


@cache
def _by_id(model: type[Owned]) -> Instances[Owned]:
    return Instances(model, lambda pk: model.objects.filter(pk=pk), int)
