"""Ids begin above a million.

Programs that copy a shop ask for what comes after id 1, and would never see a row of that id. The sequences are lifted
after each ``migrate``, so tables of later migrations begin as high, and those of an installation that is older than the
rule go on there; ids that were given stay.

Each cell of an installation that grew past one database (``BACKOFFICE_CELL``, docs/scaling.md) gives ids of a range of
its own, so that a shop moves to any other with the ids it has. Only PostgreSQL can: SQLite goes on after the highest
id, whoever gave it.
"""

from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import AutoField

LAST_UNUSED = 1_000_000
# Ids of each cell; the last cell is 9006, since JavaScript keeps whole numbers exactly to 2 to the 53rd.
RANGE = 10**12


def own_range() -> tuple[int, int]:
    """What this cell's sequences have given at first, at least, and the last id that they may give."""
    first = settings.CELL * RANGE
    return first + LAST_UNUSED, first + RANGE - 1


def last_beside(pk: int) -> int:
    """The last id of the range that an id is of: rows of one range were made in the order of their ids."""
    return pk - pk % RANGE + RANGE - 1


def start_high(*, using: str, **_: Any) -> None:
    """Move the sequence of each table of ours into its range where it is not; a receiver of ``post_migrate``."""
    here = connections[using]
    there = set(here.introspection.table_names())
    tables = {table: column for table, column in _ours().items() if table in there}
    with here.cursor() as cursor:
        if here.vendor == "postgresql":
            _move_in(here, tables)
            return
        names = [(table,) for table in tables]
        cursor.executemany(
            "INSERT INTO sqlite_sequence (name, seq) SELECT %s, 0 WHERE NOT EXISTS"
            " (SELECT 1 FROM sqlite_sequence WHERE name = %s)",
            [(*name, *name) for name in names],
        )
        cursor.executemany(
            "UPDATE sqlite_sequence SET seq = max(seq, %s) WHERE name = %s", [(LAST_UNUSED, *name) for name in names]
        )


def move_past(*, using: str = DEFAULT_DB_ALIAS) -> None:
    """Move each sequence past the ids of its range that were inserted by hand; SQLite does so by itself."""
    here = connections[using]
    if here.vendor != "postgresql":
        return
    _go_past(here, _ours())


def _move_in(here: Any, tables: dict[str, str]) -> None:
    first, last = own_range()
    with here.cursor() as cursor:
        cursor.execute(_OUTSIDE, [list(tables), list(tables.values()), first, last])
        outside = [table for (table,) in cursor.fetchall()]
        cursor.execute(_SET, [first, outside, [tables[table] for table in outside]])
    _go_past(here, {table: tables[table] for table in outside})


def _go_past(here: Any, tables: dict[str, str]) -> None:
    first, last = own_range()
    with here.cursor() as cursor:
        for table, column in tables.items():
            past = _PAST.format(table=here.ops.quote_name(table), pk=here.ops.quote_name(column))
            cursor.execute(past, [f'"{table}"', column, first, last, f'"{table}"', column])


def _ours() -> dict[str, str]:
    """By name of each table of ours that counts its ids, their column."""
    return {
        model._meta.db_table: str(model._meta.pk.column)
        for model in apps.get_models()
        if model.__module__.startswith("apps.") and isinstance(model._meta.pk, AutoField)
    }


_PAST = """
SELECT setval(pg_get_serial_sequence(%s, %s), m.highest)
FROM (SELECT max({pk}) AS highest FROM {table} WHERE {pk} BETWEEN %s AND %s) m
WHERE m.highest > coalesce(pg_sequence_last_value(pg_get_serial_sequence(%s, %s)::regclass), 0)
"""

_OUTSIDE = """
SELECT ours.name FROM unnest(%s::text[], %s::text[]) AS ours (name, pk)
WHERE coalesce(pg_sequence_last_value(pg_get_serial_sequence(quote_ident(ours.name), ours.pk)::regclass), 0)
    NOT BETWEEN %s AND %s
"""

_SET = """
SELECT setval(pg_get_serial_sequence(quote_ident(ours.name), ours.pk), %s)
FROM unnest(%s::text[], %s::text[]) AS ours (name, pk)
"""
