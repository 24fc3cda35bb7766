"""Ids begin above a million.

Programs that copy a shop ask for what comes after id 1, and would never see a row of that id. The sequences are lifted
after each ``migrate``, so tables of later migrations begin as high, and those of an installation that is older than the
rule go on there; ids that were given stay.
"""

from typing import Any

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import AutoField

LAST_UNUSED = 1_000_000


def start_high(*, using: str, **_: Any) -> None:
    """Lift the sequence of each table of ours that has not come so far; a receiver of ``post_migrate``."""
    here = connections[using]
    there = set(here.introspection.table_names())
    tables = {table: column for table, column in _ours().items() if table in there}
    with here.cursor() as cursor:
        if here.vendor == "postgresql":
            cursor.execute(_LIFT, [LAST_UNUSED, list(tables), list(tables.values()), LAST_UNUSED])
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
    """Move each sequence past the ids that were inserted by hand; SQLite does so by itself."""
    here = connections[using]
    if here.vendor != "postgresql":
        return
    with here.cursor() as cursor:
        for table, column in _ours().items():
            cursor.execute(_PAST.format(table=here.ops.quote_name(table), pk=column), [f'"{table}"', column] * 2)


def _ours() -> dict[str, str]:
    """By name of each table of ours that counts its ids, their column."""
    return {
        model._meta.db_table: str(model._meta.pk.column)
        for model in apps.get_models()
        if model.__module__.startswith("apps.") and isinstance(model._meta.pk, AutoField)
    }


_PAST = """
SELECT setval(pg_get_serial_sequence(%s, %s), m.highest) FROM (SELECT max({pk}) AS highest FROM {table}) m
WHERE m.highest > coalesce(pg_sequence_last_value(pg_get_serial_sequence(%s, %s)::regclass), 0)
"""

_LIFT = """
SELECT setval(format('%%I.%%I', schemaname, sequencename)::regclass, %s)
FROM pg_sequences
JOIN unnest(%s::text[], %s::text[]) AS ours (name, pk)
    ON format('%%I.%%I', schemaname, sequencename) = pg_get_serial_sequence(quote_ident(ours.name), ours.pk)
WHERE coalesce(last_value, 0) < %s
"""
