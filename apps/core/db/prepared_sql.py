"""Run constant SQL statements: as prepared statements on PostgreSQL, with Django's cursor on other databases."""

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

from django.conf import settings
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

from apps.core.db.transient_errors import is_stale_plan

if TYPE_CHECKING:
    from psycopg import Connection, Cursor
    from psycopg.rows import TupleRow

# ``Rows`` are tuples of column values. ``Parameters`` are values that the driver accepts.
Rows = list[Any]
Parameters = Sequence[Any]
AnyField = Field[Any, Any]
# Traces contain only the statements of Django's cursor, so all statements use this cursor.
_IS_TRACED = bool(settings.TRACES_ENDPOINT)


class StatementCall(NamedTuple):
    """A statement with its parameters. The fields are the arguments of psycopg's ``execute``."""

    sql: str
    parameters: Parameters
    is_reusable: bool = True

    def fetch(self) -> Rows:
        return execute_prepared(self.sql, self.parameters, keep=self.is_reusable)


def execute_prepared(sql: str, parameters: Parameters, *, keep: bool = True) -> Rows:
    """Run a statement and return all rows. If it will run again, ``keep`` prepares the statement.

    On PostgreSQL, the server binds the parameters and caches the query plan. Django's cursor does neither.
    """
    # Look up the connection once, because Django's proxy looks up the connection at each access.
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.vendor != "postgresql" or connection.execute_wrappers or _IS_TRACED:
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            return cursor.fetchall() if cursor.description else []
    connection.validate_no_broken_transaction()
    started = time.monotonic()
    try:
        rows = _run_bound(connection, sql, parameters, keep=keep)
    except NotSupportedError as error:
        _discard_stale_plans(connection, error)
        rows = _run_bound(connection, sql, parameters, keep=keep)
    if connection.queries_logged:
        connection.queries_log.append({"sql": sql, "time": f"{time.monotonic() - started:.3f}"})
    return rows


def _discard_stale_plans(connection: BaseDatabaseWrapper, error: NotSupportedError) -> None:
    """Discard all plans, so that the caller can run the statement again. Raise any other error again."""
    # Inside a transaction, the error aborts the transaction, so only the code that opened the transaction can retry.
    if connection.in_atomic_block or not is_stale_plan(error):
        raise error
    with connection.cursor() as cursor:
        # psycopg then also clears its own list of statements.
        cursor.execute("DEALLOCATE ALL")


# Without these plan nodes, PostgreSQL joins with nested loops, and reads every table by an index, in the index order.
_SCANNING_NODES = ("enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin", "enable_sort", "jit")
_ONLY_INDEXES = "SELECT " + ", ".join(f"set_config('{name}', 'off', true)" for name in _SCANNING_NODES)


def execute_by_index(sql: str, parameters: Parameters) -> Rows:
    """Run a statement that reads a few rows of a queue, in a transaction, and return all rows.

    A queue grows from no rows to a million faster than PostgreSQL collects statistics, and a plan that reads or sorts
    the whole queue takes seconds. Therefore PostgreSQL may only use plans that follow an index. The settings end with
    the transaction, so they also work with a pooler.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.vendor != "postgresql":
        return execute_prepared(sql, parameters)

    def run() -> Rows:
        with transaction.atomic(savepoint=False):
            return execute_batch([StatementCall(_ONLY_INDEXES, ()), StatementCall(sql, parameters)])[1]

    try:
        return run()
    except NotSupportedError as error:
        _discard_stale_plans(connection, error)
        return run()


def execute_batch(calls: Sequence[StatementCall]) -> list[Rows]:
    """Run statements in order and return the rows of each.

    PostgreSQL receives the statements in pipeline mode and runs them without a round trip after each statement. After a
    failure, the remaining statements do not run, so call this function in a transaction.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    if len(calls) < 2 or connection.execute_wrappers or _IS_TRACED:
        return [call.fetch() for call in calls]
    connection.validate_no_broken_transaction()
    connection.ensure_connection()
    started = time.monotonic()
    with connection.wrap_database_errors:
        results = (
            _run_pipelined(connection, calls)
            if connection.vendor == "postgresql"
            else _run_sequentially(connection, calls)
        )
    if connection.queries_logged:
        duration = f"{(time.monotonic() - started) / len(calls):.3f}"
        for sql, same in groupby(calls, key=attrgetter("sql")):
            times = len(list(same))
            # Django uses the same format to log ``executemany``.
            connection.queries_log.append({"sql": sql if times == 1 else f"{times} times: {sql}", "time": duration})
    return results


def _run_pipelined(connection: BaseDatabaseWrapper, calls: Sequence[StatementCall]) -> list[Rows]:
    raw = connection.connection
    with raw.pipeline():
        cursors = [_server_cursor(raw).execute(call.sql, call.parameters, prepare=call.is_reusable) for call in calls]
    return [cursor.fetchall() if cursor.pgresult and cursor.pgresult.nfields else [] for cursor in cursors]


def _run_sequentially(connection: BaseDatabaseWrapper, calls: Sequence[StatementCall]) -> list[Rows]:
    """Run statements one by one. SQLite runs in this process, so a pipeline would not save round trips."""
    cursor, results = connection.create_cursor(), list[Rows]()
    for call in calls:
        cursor.execute(call.sql, call.parameters)
        results.append(cursor.fetchall() if cursor.description else [])
    cursor.close()
    return results


def _run_bound(connection: BaseDatabaseWrapper, sql: str, parameters: Parameters, *, keep: bool) -> Rows:
    from apps.core.db.postgresql.repeated_statements import RepeatedStatements

    connection.ensure_connection()
    backend: Any = connection
    with connection.wrap_database_errors:
        statements = RepeatedStatements.of(connection.connection)
        if keep and (rows := statements.run(sql, parameters)) is not None:
            return rows
        cursor = _server_cursor(connection.connection).execute(sql, parameters, prepare=keep)
        try:
            return cursor.fetchall()
        except backend.Database.ProgrammingError:
            # Catch the exception instead of checking for rows first, because most statements return rows.
            if cursor.pgresult and cursor.pgresult.nfields:
                raise
            return []


def _server_cursor(raw: "Connection[TupleRow]") -> "Cursor[TupleRow]":
    """Return a cursor that binds parameters on the server and uses psycopg's compiled timestamp loader."""
    import psycopg

    from apps.core.db.postgresql.repeated_statements import RepeatedStatements

    cursor = psycopg.Cursor(raw)
    # The public property would copy all adapters for each cursor.
    cursor._adapters = RepeatedStatements.of(raw).adapters
    return cursor


def execute_many(sql: str, parameters: Iterable[Parameters]) -> None:
    """Run a statement once for each row of parameters, in order. Many rows need no more round trips than one row."""
    with transaction.atomic(savepoint=False):
        execute_batch([StatementCall(sql, values) for values in parameters])


def insert_row(instance: Model, fields: Sequence[AnyField], returning: Sequence[AnyField]) -> Rows | None:
    """Insert a row with a statement that is built once per model. Return None if the ORM must write a value."""
    call = _build_single_insert(instance, fields, returning)
    return None if call is None else call.fetch()


def build_inserts(instances: Sequence[Model]) -> Iterator[tuple[Sequence[Model], StatementCall]]:
    """Yield the statements that insert rows of one model and return their keys, each with its rows."""
    if not instances:
        return
    meta, connection = type(instances[0])._meta, connections[DEFAULT_DB_ALIAS]
    fields, key = [field for field in meta.concrete_fields if field is not meta.pk], [meta.pk]
    size = connection.ops.bulk_batch_size(fields, list(instances))
    for start in range(0, len(instances), size):
        rows = instances[start : start + size]
        is_single = len(rows) == 1
        call = _build_single_insert(rows[0], fields, key) if is_single else _build_bulk_insert(rows, fields, key)
        if call is None:
            raise TypeError(f"{meta.label}: values must not be expressions")
        yield rows, call


def _build_single_insert(
    instance: Model, fields: Sequence[AnyField], returning: Sequence[AnyField]
) -> StatementCall | None:
    statement = _get_insert(type(instance), fields, returning)
    if statement is None:
        return None
    connection = connections[DEFAULT_DB_ALIAS]
    values: list[object] = []
    for name, move, plain, prepare in statement.columns:
        value = getattr(instance, name) if move is None else move(instance, True)
        if type(value) in plain and (type(value) is not datetime or value.tzinfo):
            values.append(value)
        elif hasattr(value, "resolve_expression"):
            return None
        else:
            values.append(prepare(value, connection))
    return StatementCall(f"{statement.head} VALUES {statement.row} {statement.back}", values)


def insert_rows(instances: Sequence[Model], fields: Sequence[AnyField], returning: Sequence[AnyField]) -> Rows | None:
    """Insert rows of one model in one statement, in order. This avoids the ORM's two method calls per value."""
    call = _build_bulk_insert(instances, fields, returning)
    return None if call is None else call.fetch()


def _build_bulk_insert(
    instances: Sequence[Model], fields: Sequence[AnyField], returning: Sequence[AnyField]
) -> StatementCall | None:
    statement = _get_insert(type(instances[0]), fields, returning)
    if statement is None:
        return None
    connection = connections[DEFAULT_DB_ALIAS]
    columns = []
    for name, move, plain, prepare in statement.many:
        values = list(map(attrgetter(name), instances)) if move is None else _save_time_values(instances, name, move)
        if any(hasattr(kind, "resolve_expression") for kind in set(map(type, values))):
            return None
        columns.append(_convert_column(values, plain, prepare, connection))
    if statement.kinds:
        are_many = len(instances) >= MANY_ROWS
        rows, parameters = _build_unnest(statement.kinds, columns, fold=are_many)
        return StatementCall(f"{statement.head} {rows} {statement.back}", parameters, is_reusable=not are_many)
    rows = ", ".join([statement.row] * len(instances))
    values = list(chain.from_iterable(zip(*columns, strict=True)))
    return StatementCall(f"{statement.head} VALUES {rows} {statement.back}", values, is_reusable=False)


def _build_unnest(kinds: Sequence[str], columns: Sequence[list[Any]], *, fold: bool) -> tuple[str, list[Any]]:
    """Return the SQL that builds rows from columns, and the parameters: one list of values per column.

    With ``fold``, a column with the same value in all rows is passed as a single value. This changes the SQL.
    """
    placeholders, parameters = [], list[Any]()
    for kind, values in zip(kinds, columns, strict=True):
        if fold and values.count(values[0]) == len(values):
            placeholders.append(f"array_fill(%s::{kind}, ARRAY[%s::int])")
            parameters += [values[0], len(values)]
        else:
            placeholders.append(f"%s::{kind}[]")
            parameters.append(values)
    return f"SELECT * FROM UNNEST({', '.join(placeholders)})", parameters  # noqa: S608 - types of columns


def _save_time_values(instances: Sequence[Model], name: str, move: Callable[[Model, bool], object]) -> list[Any]:
    """Return the new values of a field that changes at each save. All rows get the same timestamp."""
    if not isinstance(getattr(move, "__self__", None), DateField):
        return [move(instance, True) for instance in instances]
    moment = move(instances[0], True)
    for instance in instances:
        setattr(instance, name, moment)
    return [moment] * len(instances)


def _convert_column(
    values: list[Any],
    plain: frozenset[type],
    prepare: Callable[[object, BaseDatabaseWrapper], object],
    connection: BaseDatabaseWrapper,
) -> list[Any]:
    """Convert a column's values for the driver. Repeated values, such as timestamps, are converted only once."""
    kinds = set(map(type, values))
    if kinds <= plain - {datetime}:
        return values
    if not kinds <= _REPEATED:
        return [prepare(value, connection) for value in values]
    converted = {value: prepare(value, connection) for value in set(values)}
    return [converted[value] for value in values]


def _get_insert(model: type[Model], fields: Sequence[AnyField], returning: Sequence[AnyField]) -> "_Insert | None":
    # ``id(field)`` is a safe key, because a field exists as long as its model. Hashing the field would take longer.
    key = (model, *map(id, fields), *map(id, returning))
    if key not in _INSERTS:
        _INSERTS[key] = _Insert.of(model, fields, returning)
    return _INSERTS[key]


InsertColumn = tuple[
    str,
    Callable[[Model, bool], object] | None,
    frozenset[type],
    Callable[[object, BaseDatabaseWrapper], object],
]


@dataclass(frozen=True, slots=True)
class _Insert:
    """The insert statement of a model.

    Attributes:
        head: The SQL before the values.
        row: The placeholders of one row.
        kinds: The column types, if rows can be passed as one array per column (on PostgreSQL), otherwise None.
        back: The ``RETURNING`` clause.
        columns: For each column: the attribute, the function that computes the value at each save (or None), the types
            that the driver accepts unchanged, and the function that converts values of other types.
        many: Like ``columns``, but for inserts of several rows.
    """

    head: str
    row: str
    kinds: tuple[str, ...] | None
    back: str
    columns: tuple[InsertColumn, ...]
    many: tuple[InsertColumn, ...]

    @classmethod
    def of(cls, model: type[Model], fields: Sequence[AnyField], returning: Sequence[AnyField]) -> "_Insert | None":
        """Build the statement. Return None if a field generates its own SQL."""
        if any(hasattr(field, "get_placeholder") for field in fields):
            return None
        quote = connections[DEFAULT_DB_ALIAS].ops.quote_name
        names = ", ".join(quote(str(field.column)) for field in fields)
        marks = ", ".join(["%s"] * len(fields))
        back = ", ".join(quote(str(field.column)) for field in returning)
        table = quote(model._meta.db_table)
        kinds = _get_column_types(fields)
        columns, bulk_columns = (
            tuple((field.attname, _get_pre_save(field), plain(field), field.get_db_prep_save) for field in fields)
            for plain in (_accepted_types, _accepted_list_types if kinds else _accepted_types)
        )
        return cls(f"INSERT INTO {table} ({names})", f"({marks})", kinds, f"RETURNING {back}", columns, bulk_columns)


def _get_column_types(fields: Sequence[AnyField]) -> tuple[str, ...] | None:
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.vendor != "postgresql":
        return None
    # Remove the length from the type, because a cast to a type with a length truncates strings without an error.
    kinds = tuple(str(field.db_type(connection)).split("(")[0] for field in fields)
    # Array columns are not supported, because PostgreSQL would read a list of lists as a multidimensional array.
    return None if any("[]" in kind for kind in kinds) else kinds


_INSERTS: dict[tuple[object, ...], _Insert | None] = {}
# For this many rows or more, sending less data saves more time than reusing a prepared statement.
MANY_ROWS = 50
# Equal values of these types have equal database values, so each distinct value is converted only once.
_REPEATED = frozenset({Decimal, NoneType, UUID, datetime, str})


def _get_pre_save(field: AnyField) -> Callable[[Model, bool], object] | None:
    """Return the function that computes a field's value at each save, or None if the value does not change."""
    if isinstance(field, DateField) and not (field.auto_now or field.auto_now_add):
        return None
    return None if type(field).pre_save is Field.pre_save else field.pre_save


def _accepted_types(field: AnyField) -> frozenset[type]:
    if connections[DEFAULT_DB_ALIAS].vendor == "postgresql":
        return _map_field_types(field, _TEXTS | {DateTimeField: datetime, UUIDField: UUID})
    return _map_field_types(field, _TEXTS | _NUMBERS)


def _accepted_list_types(field: AnyField) -> frozenset[type]:
    """Return the types that the driver accepts within lists. Integers are accepted because the SQL casts lists."""
    return _map_field_types(field, _TEXTS | _NUMBERS | {DateTimeField: datetime, UUIDField: UUID})


def _map_field_types(field: AnyField, kinds: Mapping[type[AnyField], type]) -> frozenset[type]:
    if not type(field).__module__.startswith("django."):
        return frozenset()
    types = {kind for field_class, kind in kinds.items() if isinstance(field, field_class)}
    return frozenset({*types, NoneType} if types else ())


_TEXTS: dict[type[AnyField], type] = {CharField: str, TextField: str, BooleanField: bool}
_NUMBERS: dict[type[AnyField], type] = {IntegerField: int, ForeignKey: int}
