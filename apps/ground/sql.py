"""Running SQL text that is the same each time: prepared on PostgreSQL, through Django's cursor elsewhere."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import NoneType
from typing import TYPE_CHECKING, Any
from uuid import UUID
from weakref import WeakKeyDictionary

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, CharField, DateField, DateTimeField, Field, Model, TextField, UUIDField

if TYPE_CHECKING:
    from psycopg import Connection, Cursor
    from psycopg.adapt import AdaptersMap
    from psycopg.rows import TupleRow

# Tuples of whatever the columns are, and values of whatever the driver takes.
Rows = list[Any]
Parameters = Sequence[Any]
AnyField = Field[Any, Any]


def execute(sql: str, parameters: Parameters) -> Rows:
    """Run a query and fetch all rows.

    On PostgreSQL the server binds the parameters and keeps the plan, unlike with the cursor that Django makes.
    """
    # The proxy looks the connection up anew at each use of it.
    here = connections[DEFAULT_DB_ALIAS]
    if here.vendor != "postgresql":
        with here.cursor() as cursor:
            cursor.execute(sql, parameters)
            return cursor.fetchall()
    here.validate_no_broken_transaction()
    if here.connection is None:
        here.connect()
    began = time.monotonic()
    with here.wrap_database_errors:
        rows = _server_cursor(here.connection).execute(sql, parameters, prepare=True).fetchall()
    if here.queries_logged:
        here.queries_log.append({"sql": sql, "time": f"{time.monotonic() - began:.3f}"})
    return rows


def _server_cursor(raw: "Connection[TupleRow]") -> "Cursor[TupleRow]":
    """A cursor that binds on the server, and reads moments with psycopg's compiled loader.

    The loader that Django puts in its place takes seven times as long; both give the same moments in UTC.
    """
    from psycopg import Cursor

    cursor = Cursor(raw)
    cursor._adapters = _adapters(raw)  # the public property would copy all of them for each cursor
    return cursor


_ADAPTERS: "WeakKeyDictionary[Connection[TupleRow], AdaptersMap]" = WeakKeyDictionary()


def _adapters(raw: "Connection[TupleRow]") -> "AdaptersMap":
    """The connection's adapters with the compiled loader of moments, made once per connection."""
    found = _ADAPTERS.get(raw)
    if found is None:
        from psycopg import adapters
        from psycopg.adapt import AdaptersMap
        from psycopg.pq import Format

        oid = adapters.types["timestamptz"].oid
        loader = adapters.get_loader(oid, Format.TEXT)
        found = AdaptersMap(raw.adapters)
        if loader is not None:
            found.register_loader(oid, loader)
        _ADAPTERS[raw] = found
    return found


def insert(instance: Model, fields: Sequence[AnyField], returning: Sequence[AnyField]) -> Rows | None:
    """Insert one row with a statement that is written once per model.

    Returns:
        The returned columns; None where a value is an expression, which only the ORM can write.
    """
    # Fields live as long as their model, and hashing them takes longer than their addresses.
    key = (type(instance), *map(id, fields), *map(id, returning))
    if key not in _INSERTS:
        _INSERTS[key] = _Insert.of(type(instance), fields, returning)
    statement = _INSERTS[key]
    if statement is None:
        return None
    here = connections[DEFAULT_DB_ALIAS]
    values: list[object] = []
    for name, move, plain, prepare in statement.columns:
        value = getattr(instance, name) if move is None else move(instance, True)
        if type(value) in plain and (type(value) is not datetime or value.tzinfo):
            values.append(value)
        elif hasattr(value, "resolve_expression"):
            return None
        else:
            values.append(prepare(value, here))
    return execute(statement.text, values)


Column = tuple[
    str,
    Callable[[Model, bool], object] | None,
    frozenset[type],
    Callable[[object, BaseDatabaseWrapper], object],
]


@dataclass(frozen=True, slots=True)
class _Insert:
    """The insert of a model's row.

    Attributes:
        text: The SQL.
        columns: By column the attribute; what gives its value where that is made at each save; the types that the
            driver takes as they are; and what prepares values of other types.
    """

    text: str
    columns: tuple[Column, ...]

    @classmethod
    def of(cls, model: type[Model], fields: Sequence[AnyField], returning: Sequence[AnyField]) -> "_Insert | None":
        """The statement; None where a field writes SQL of its own."""
        if any(hasattr(field, "get_placeholder") for field in fields):
            return None
        quote = connections[DEFAULT_DB_ALIAS].ops.quote_name
        names = ", ".join(quote(str(field.column)) for field in fields)
        marks = ", ".join(["%s"] * len(fields))
        back = ", ".join(quote(str(field.column)) for field in returning)
        table = quote(model._meta.db_table)
        text = f"INSERT INTO {table} ({names}) VALUES ({marks}) RETURNING {back}"  # noqa: S608 - names
        return cls(
            text, tuple((field.attname, _moving(field), _plain(field), field.get_db_prep_save) for field in fields)
        )


_INSERTS: dict[tuple[object, ...], _Insert | None] = {}


def _moving(field: AnyField) -> Callable[[Model, bool], object] | None:
    """What gives the value of a field that changes with each save."""
    if isinstance(field, DateField) and not (field.auto_now or field.auto_now_add):
        return None
    return None if type(field).pre_save is Field.pre_save else field.pre_save


def _plain(field: AnyField) -> frozenset[type]:
    """The types of a field's values that the driver takes as they are."""
    kinds = {CharField: str, TextField: str, BooleanField: bool}
    if connections[DEFAULT_DB_ALIAS].vendor == "postgresql":
        kinds |= {DateTimeField: datetime, UUIDField: UUID}
    if not type(field).__module__.startswith("django."):
        return frozenset()
    found = {kind for field_class, kind in kinds.items() if isinstance(field, field_class)}
    return frozenset({*found, NoneType} if found else ())
