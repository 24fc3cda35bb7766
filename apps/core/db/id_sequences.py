"""Start ids above a million, and give each cell a separate range of ids.

Client programs that copy a shop begin with ``since_id=1``, and would miss a row with the id 1. The sequences are
adjusted after each ``migrate``, including sequences of new tables. Existing ids do not change.

In an installation with several databases (cells, see docs/scaling.md), each cell has its own range of ids
(``BACKOFFICE_ID_RANGE``), so that a shop can move to another cell without changing ids. Cells require PostgreSQL,
because SQLite always continues after the highest id.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import AutoField, Model, QuerySet

from apps.core.db.prepared_sql import execute_prepared

LAST_RESERVED_ID = 1_000_000
# The number of ids per cell. The last cell is 9006, because JavaScript integers are only exact up to 2**53.
RANGE_SIZE = 10**12
# The number of rows that ``iterate_old_rows`` reads at once.
BATCH_SIZE = 1000


def get_id_range() -> tuple[int, int]:
    """Return the first and the last id of this cell's sequences."""
    first = settings.ID_RANGE * RANGE_SIZE
    return first + LAST_RESERVED_ID, first + RANGE_SIZE - 1


def get_last_id_of_range(pk: int) -> int:
    """Return the last id of the range that contains an id. Ids within a range ascend in the order of creation."""
    return pk - pk % RANGE_SIZE + RANGE_SIZE - 1


def reserve_ids(model: type[Model], count: int) -> list[int]:
    """Return the next ids of a model's table, so that a row can refer to a row that is inserted later.

    On SQLite, the caller must be in a transaction that can write.
    """
    table = model._meta.db_table
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.vendor == "postgresql":
        return [pk for (pk,) in execute_prepared(_RESERVE_SQL, [table, count])]
    ((last,),) = execute_prepared(_RESERVE_SQLITE_SQL, [count, table])
    return list(range(last - count + 1, last + 1))


def iterate_old_rows(rows: QuerySet[Any], before: datetime) -> Iterator[list[int]]:
    """Yield batches of IDs of rows that were created before a given time, in ascending order.

    IDs mostly ascend with time, so rows after the old rows need not be read. After a batch without old rows, reading
    skips to the next range of IDs (imported rows have separate ranges). An old row that was written after newer rows
    may only be found in a later run, when the adjacent rows are old, too.
    """
    last = 0
    while batch := list(rows.filter(pk__gt=last).order_by("pk").values_list("pk", "created_at")[:BATCH_SIZE]):
        last = batch[-1][0]
        if old := [pk for pk, created_at in batch if created_at < before]:
            yield old
        else:
            last = get_last_id_of_range(last)


def initialize_sequences(*, using: str, **_: Any) -> None:
    """Move the id sequence of each table into this cell's range (a receiver of ``post_migrate``)."""
    connection = connections[using]
    existing = set(connection.introspection.table_names())
    tables = {table: column for table, column in _get_id_columns().items() if table in existing}
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            _move_into_range(connection, tables)
            return
        cursor.executemany(
            "INSERT INTO sqlite_sequence (name, seq) SELECT %s, 0 WHERE NOT EXISTS"
            " (SELECT 1 FROM sqlite_sequence WHERE name = %s)",
            [(table, table) for table in tables],
        )
        cursor.executemany(
            "UPDATE sqlite_sequence SET seq = max(seq, %s) WHERE name = %s",
            [(LAST_RESERVED_ID, table) for table in tables],
        )


def advance_sequences(*, using: str = DEFAULT_DB_ALIAS) -> None:
    """Advance each sequence past ids that were inserted explicitly. SQLite does this automatically."""
    connection = connections[using]
    if connection.vendor == "postgresql":
        _advance(connection, _get_id_columns())


def _move_into_range(connection: Any, tables: dict[str, str]) -> None:
    first, last = get_id_range()
    with connection.cursor() as cursor:
        cursor.execute(_OUT_OF_RANGE_SQL, [list(tables), list(tables.values()), first, last])
        outside = [table for (table,) in cursor.fetchall()]
        cursor.execute(_SET_SQL, [first, outside, [tables[table] for table in outside]])
    _advance(connection, {table: tables[table] for table in outside})


def _advance(connection: Any, tables: dict[str, str]) -> None:
    first, last = get_id_range()
    with connection.cursor() as cursor:
        for table, column in tables.items():
            past = _ADVANCE_SQL.format(table=connection.ops.quote_name(table), pk=connection.ops.quote_name(column))
            cursor.execute(past, [f'"{table}"', column, first, last, f'"{table}"', column])


def _get_id_columns() -> dict[str, str]:
    return {
        model._meta.db_table: str(model._meta.pk.column)
        for model in apps.get_models()
        if model.__module__.startswith("apps.") and isinstance(model._meta.pk, AutoField)
    }


_RESERVE_SQL = "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)"
_RESERVE_SQLITE_SQL = "UPDATE sqlite_sequence SET seq = seq + %s WHERE name = %s RETURNING seq"

_ADVANCE_SQL = """
SELECT setval(pg_get_serial_sequence(%s, %s), m.highest)
FROM (SELECT max({pk}) AS highest FROM {table} WHERE {pk} BETWEEN %s AND %s) m
WHERE m.highest > coalesce(pg_sequence_last_value(pg_get_serial_sequence(%s, %s)::regclass), 0)
"""

_OUT_OF_RANGE_SQL = """
SELECT ours.name FROM unnest(%s::text[], %s::text[]) AS ours (name, pk)
WHERE coalesce(pg_sequence_last_value(pg_get_serial_sequence(quote_ident(ours.name), ours.pk)::regclass), 0)
    NOT BETWEEN %s AND %s
"""

_SET_SQL = """
SELECT setval(pg_get_serial_sequence(quote_ident(ours.name), ours.pk), %s)
FROM unnest(%s::text[], %s::text[]) AS ours (name, pk)
"""
