"""Running SQL text that is the same each time: prepared on PostgreSQL, through Django's cursor elsewhere."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import chain, groupby
from operator import attrgetter
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID
from weakref import WeakKeyDictionary

from django.db import DEFAULT_DB_ALIAS, NotSupportedError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import (
    BooleanField,
    CharField,
    DateField,
    DateTimeField,
    Field,
    ForeignKey,
    IntegerField,
    Model,
    TextField,
    UUIDField,
)

from apps.ground.outages import is_stale_plan

if TYPE_CHECKING:
    from psycopg import Connection, Cursor
    from psycopg.adapt import AdaptersMap
    from psycopg.rows import TupleRow

# Tuples of whatever the columns are, and values of whatever the driver takes.
Rows = list[Any]
Parameters = Sequence[Any]
AnyField = Field[Any, Any]


class Call(NamedTuple):
    """A statement with its values; the members are the arguments of ``execute``."""

    sql: str
    parameters: Parameters
    keep: bool = True

    def fetch(self) -> Rows:
        """Run it by itself and fetch all rows."""
        return execute(self.sql, self.parameters, keep=self.keep)


def execute(sql: str, parameters: Parameters, *, keep: bool = True) -> Rows:
    """Run a statement and fetch all rows.

    On PostgreSQL the server binds the parameters and keeps the plan, unlike with the cursor that Django makes.

    Args:
        sql: The statement.
        parameters: Its values.
        keep: Whether it will be run again, so that its plan is worth the place of another's.
    """
    # The proxy looks the connection up anew at each use of it.
    here = connections[DEFAULT_DB_ALIAS]
    if here.vendor != "postgresql" or here.execute_wrappers:
        with here.cursor() as cursor:
            cursor.execute(sql, parameters)
            return cursor.fetchall() if cursor.description else []
    here.validate_no_broken_transaction()
    began = time.monotonic()
    try:
        rows = _run_bound(here, sql, parameters, keep=keep)
    except NotSupportedError as error:
        # In a transaction that is lost now, whoever opened it may begin again.
        if here.in_atomic_block or not is_stale_plan(error):
            raise
        _forget_plans(here)
        rows = _run_bound(here, sql, parameters, keep=keep)
    if here.queries_logged:
        here.queries_log.append({"sql": sql, "time": f"{time.monotonic() - began:.3f}"})
    return rows


def execute_all(calls: Sequence[Call]) -> list[Rows]:
    """Run statements in their order, and fetch the rows of each.

    On PostgreSQL they are sent together: the server begins each as soon as it is done with the one before, and nobody
    is waited for in between. Where one fails, those behind it are not run; call it within a transaction.
    """
    here = connections[DEFAULT_DB_ALIAS]
    if len(calls) < 2 or here.execute_wrappers:
        return [call.fetch() for call in calls]
    here.validate_no_broken_transaction()
    here.ensure_connection()
    began = time.monotonic()
    with here.wrap_database_errors:
        answers = _sent_together(here, calls) if here.vendor == "postgresql" else _one_by_one(here, calls)
    if here.queries_logged:
        taken = f"{(time.monotonic() - began) / len(calls):.3f}"
        for sql, same in groupby(calls, key=attrgetter("sql")):
            times = len(list(same))
            # As Django says it of ``executemany``.
            here.queries_log.append({"sql": sql if times == 1 else f"{times} times: {sql}", "time": taken})
    return answers


def _sent_together(here: BaseDatabaseWrapper, calls: Sequence[Call]) -> list[Rows]:
    raw = here.connection
    with raw.pipeline():
        cursors = [_server_cursor(raw).execute(call.sql, call.parameters, prepare=call.keep) for call in calls]
    return [cursor.fetchall() if cursor.pgresult and cursor.pgresult.nfields else [] for cursor in cursors]


def _one_by_one(here: BaseDatabaseWrapper, calls: Sequence[Call]) -> list[Rows]:
    """Within this process there is nothing to wait for."""
    cursor, answers = here.create_cursor(), list[Rows]()
    for call in calls:
        cursor.execute(call.sql, call.parameters)
        answers.append(cursor.fetchall() if cursor.description else [])
    cursor.close()
    return answers


def _run_bound(here: BaseDatabaseWrapper, sql: str, parameters: Parameters, *, keep: bool) -> Rows:
    here.ensure_connection()
    backend: Any = here
    with here.wrap_database_errors:
        cursor = _server_cursor(here.connection).execute(sql, parameters, prepare=keep)
        try:
            return cursor.fetchall()
        except backend.Database.ProgrammingError:
            # Most give rows, and the hot path is spared the question whether this one does.
            if cursor.pgresult and cursor.pgresult.nfields:
                raise
            return []


def _forget_plans(here: BaseDatabaseWrapper) -> None:
    """Let the connection prepare its statements anew; the driver forgets its list of them with the server."""
    with here.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")


def _server_cursor(raw: "Connection[TupleRow]") -> "Cursor[TupleRow]":
    """A cursor that binds on the server, and reads moments with psycopg's compiled loader.

    The loader that Django puts in its place takes seven times as long; both give the same moments in UTC.
    """
    import psycopg

    cursor = psycopg.Cursor(raw)
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


def execute_each(sql: str, parameters: Iterable[Parameters]) -> None:
    """Run a statement once for each row of parameters, in their order; as few trips to the database as for one."""
    with transaction.atomic(savepoint=False):
        execute_all([Call(sql, each) for each in parameters])


def insert(instance: Model, fields: Sequence[AnyField], returning: Sequence[AnyField]) -> Rows | None:
    """Insert one row with a statement that is written once per model.

    Returns:
        The returned columns; None where a value is an expression, which only the ORM can write.
    """
    call = _insertion_of_one(instance, fields, returning)
    return None if call is None else call.fetch()


def insertions(instances: Sequence[Model]) -> Iterator[tuple[Sequence[Model], Call]]:
    """The statements that insert rows of one model, each with its rows; they return the keys, in the rows' order.

    Raises:
        TypeError: A value is an expression, which only the ORM can write.
    """
    if not instances:
        return
    meta, here = type(instances[0])._meta, connections[DEFAULT_DB_ALIAS]
    fields, key = [field for field in meta.concrete_fields if field is not meta.pk], [meta.pk]
    size = here.ops.bulk_batch_size(fields, list(instances))
    for begin in range(0, len(instances), size):
        rows = instances[begin : begin + size]
        one = len(rows) == 1
        call = _insertion_of_one(rows[0], fields, key) if one else _insertion_of_many(rows, fields, key)
        if call is None:
            raise TypeError(f"{meta.label}: only plain values can be written")
        yield rows, call


def _insertion_of_one(instance: Model, fields: Sequence[AnyField], returning: Sequence[AnyField]) -> Call | None:
    statement = _statement(type(instance), fields, returning)
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
    return Call(f"{statement.head} VALUES {statement.row} {statement.back}", values)


def insert_many(instances: Sequence[Model], fields: Sequence[AnyField], returning: Sequence[AnyField]) -> Rows | None:
    """Insert rows of one model in one statement, in their order; the ORM asks every field for every value twice.

    Returns:
        The returned columns of each row, as ``insert``.
    """
    call = _insertion_of_many(instances, fields, returning)
    return None if call is None else call.fetch()


def _insertion_of_many(
    instances: Sequence[Model], fields: Sequence[AnyField], returning: Sequence[AnyField]
) -> Call | None:
    statement = _statement(type(instances[0]), fields, returning)
    if statement is None:
        return None
    here = connections[DEFAULT_DB_ALIAS]
    columns = []
    for name, move, plain, prepare in statement.many:
        values = list(map(attrgetter(name), instances)) if move is None else _moved(instances, name, move)
        if any(hasattr(kind, "resolve_expression") for kind in set(map(type, values))):
            return None
        columns.append(_prepared(values, plain, prepare, here))
    if statement.kinds:
        are_many = len(instances) >= MANY
        rows, parameters = _unnested(statement.kinds, columns, fold=are_many)
        return Call(f"{statement.head} {rows} {statement.back}", parameters, keep=not are_many)
    rows = ", ".join([statement.row] * len(instances))
    values = list(chain.from_iterable(zip(*columns, strict=True)))
    return Call(f"{statement.head} VALUES {rows} {statement.back}", values, keep=False)


def _unnested(kinds: Sequence[str], columns: Sequence[list[Any]], *, fold: bool) -> tuple[str, list[Any]]:
    """A query of rows out of columns, and its parameters: a list for each column, whatever the number of rows.

    Args:
        kinds: The types of the columns.
        columns: Their values.
        fold: Whether a column whose rows share one value is to be that value; which ones do changes the statement.
    """
    places, parameters = [], list[Any]()
    for kind, values in zip(kinds, columns, strict=True):
        if fold and values.count(values[0]) == len(values):
            places.append(f"array_fill(%s::{kind}, ARRAY[%s::int])")
            parameters += [values[0], len(values)]
        else:
            places.append(f"%s::{kind}[]")
            parameters.append(values)
    return f"SELECT * FROM UNNEST({', '.join(places)})", parameters  # noqa: S608 - types of columns


def _moved(instances: Sequence[Model], name: str, move: Callable[[Model, bool], object]) -> list[Any]:
    """What changes with each save; rows that are written together share their moment."""
    if not isinstance(getattr(move, "__self__", None), DateField):
        return [move(instance, True) for instance in instances]
    moment = move(instances[0], True)
    for instance in instances:
        setattr(instance, name, moment)
    return [moment] * len(instances)


def _prepared(
    values: list[Any],
    plain: frozenset[type],
    prepare: Callable[[object, BaseDatabaseWrapper], object],
    here: BaseDatabaseWrapper,
) -> list[Any]:
    """A column's values as the driver takes them; a value that stands in many rows, such as a moment, is asked once."""
    kinds = set(map(type, values))
    if kinds <= plain - {datetime}:
        return values
    if not kinds <= _REPEATED:
        return [prepare(value, here) for value in values]
    known = {value: prepare(value, here) for value in set(values)}
    return [known[value] for value in values]


def _statement(model: type[Model], fields: Sequence[AnyField], returning: Sequence[AnyField]) -> "_Insert | None":
    # Fields live as long as their model, and hashing them takes longer than their addresses.
    key = (model, *map(id, fields), *map(id, returning))
    if key not in _INSERTS:
        _INSERTS[key] = _Insert.of(model, fields, returning)
    return _INSERTS[key]


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
        head: The SQL up to the values.
        row: The places of one row's values.
        kinds: On PostgreSQL the types of the columns, where rows can be written as columns of values.
        back: What is returned of each row.
        columns: By column the attribute; what gives its value where that is made at each save; the types that the
            driver takes as they are; and what prepares values of other types.
        many: The same for many rows.
    """

    head: str
    row: str
    kinds: tuple[str, ...] | None
    back: str
    columns: tuple[Column, ...]
    many: tuple[Column, ...]

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
        kinds = _kinds(fields)
        columns, many = (
            tuple((field.attname, _moving(field), plain(field), field.get_db_prep_save) for field in fields)
            for plain in (_plain, _plain_in_lists if kinds else _plain)
        )
        return cls(f"INSERT INTO {table} ({names})", f"({marks})", kinds, f"RETURNING {back}", columns, many)


def _kinds(fields: Sequence[AnyField]) -> tuple[str, ...] | None:
    here = connections[DEFAULT_DB_ALIAS]
    if here.vendor != "postgresql":
        return None
    # Without its length a type cuts nothing off; the column itself checks it.
    kinds = tuple(str(field.db_type(here)).split("(")[0] for field in fields)
    # A list of lists would be an array of more dimensions.
    return None if any("[]" in kind for kind in kinds) else kinds


_INSERTS: dict[tuple[object, ...], _Insert | None] = {}
# From so many rows on, sending less is worth a statement that may not come again.
MANY = 50
# Values of these types that are equal are the same to a column.
_REPEATED = frozenset({Decimal, NoneType, UUID, datetime, str})


def _moving(field: AnyField) -> Callable[[Model, bool], object] | None:
    """What gives the value of a field that changes with each save."""
    if isinstance(field, DateField) and not (field.auto_now or field.auto_now_add):
        return None
    return None if type(field).pre_save is Field.pre_save else field.pre_save


def _plain(field: AnyField) -> frozenset[type]:
    """The types of a field's values that the driver takes as they are."""
    if connections[DEFAULT_DB_ALIAS].vendor == "postgresql":
        return _plain_of(field, _TEXTS | {DateTimeField: datetime, UUIDField: UUID})
    return _plain_of(field, _TEXTS | _NUMBERS)


def _plain_in_lists(field: AnyField) -> frozenset[type]:
    """The same for lists of them, whose type the statement says: by themselves numbers tell theirs by their size."""
    return _plain_of(field, _TEXTS | _NUMBERS | {DateTimeField: datetime, UUIDField: UUID})


def _plain_of(field: AnyField, kinds: Mapping[type[AnyField], type]) -> frozenset[type]:
    if not type(field).__module__.startswith("django."):
        return frozenset()
    found = {kind for field_class, kind in kinds.items() if isinstance(field, field_class)}
    return frozenset({*found, NoneType} if found else ())


_TEXTS: dict[type[AnyField], type] = {CharField: str, TextField: str, BooleanField: bool}
_NUMBERS: dict[type[AnyField], type] = {IntegerField: int, ForeignKey: int}
