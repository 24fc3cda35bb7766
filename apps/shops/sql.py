"""Running SQL text that is the same each time: prepared on PostgreSQL, through Django's cursor elsewhere."""

import time
from collections.abc import Sequence
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import BooleanField, CharField, Field, Model, TextField


def execute(sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
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


def _server_cursor(raw: Any) -> Any:
    """A cursor that binds on the server, and reads moments with psycopg's compiled loader.

    The loader that Django puts in its place takes seven times as long; both give the same moments in UTC.
    """
    from psycopg import Cursor

    cursor = Cursor(raw)
    cursor._adapters = _adapters(raw)  # the public property would copy all of them for each cursor
    return cursor


_ADAPTERS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


def _adapters(raw: Any) -> Any:
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


def insert(
    instance: Model, fields: Sequence[Field[Any, Any]], returning: Sequence[Field[Any, Any]]
) -> list[tuple[Any, ...]] | None:
    """Insert one row with a statement that is written once per model.

    Returns:
        The returned columns; None where a value is an expression, which only the ORM can write.
    """
    statement = _statement(type(instance), tuple(fields), tuple(returning))
    if statement is None:
        return None
    text, plain = statement
    here = connections[DEFAULT_DB_ALIAS]
    values = []
    for field, as_is in zip(fields, plain, strict=True):
        value = field.pre_save(instance, add=True)
        if as_is and (value is None or type(value) is str or type(value) is bool):
            values.append(value)
        elif hasattr(value, "resolve_expression"):
            return None
        else:
            values.append(field.get_db_prep_save(value, here))
    return execute(text, values)


@cache
def _statement(
    model: type[Model], fields: tuple[Field[Any, Any], ...], returning: tuple[Field[Any, Any], ...]
) -> tuple[str, list[bool]] | None:
    """The text of an insert, and which fields store texts and truth values as they are."""
    if any(hasattr(field, "get_placeholder") for field in fields):
        return None
    quote = connections[DEFAULT_DB_ALIAS].ops.quote_name
    names = ", ".join(quote(str(field.column)) for field in fields)
    marks = ", ".join(["%s"] * len(fields))
    back = ", ".join(quote(str(field.column)) for field in returning)
    text = f"INSERT INTO {quote(model._meta.db_table)} ({names}) VALUES ({marks}) RETURNING {back}"  # noqa: S608 - names
    return text, [
        isinstance(field, CharField | TextField | BooleanField) and type(field).__module__.startswith("django.")
        for field in fields
    ]
