"""What the database's planner knows of the tables: renewed where much was written at once.

A planner without statistics takes a table of a million rows for an empty one, and reads all of it.
"""

import logging
from typing import Any

from django.apps import apps
from django.db import DatabaseError, connection, connections, transaction

logger = logging.getLogger(__name__)

# Fewer new rows than these change no plan; PostgreSQL counts them by itself.
MANY = 100
# So many shops PostgreSQL takes each table to be shared by, whatever it counts.
SHOPS = 50
# While rows are being written, counted anew at so many of them, and each time there are so many times as many.
FIRST, TIMES = 1_000, 4


def renew() -> None:
    """Count again, by samples; takes seconds at a million rows. A failure is logged: the work before it was done."""
    try:
        with transaction.atomic():
            count()
    except DatabaseError:
        logger.warning("The statistics of the tables could not be renewed.", exc_info=True)


def renew_on_the_way(before: int, done: int) -> None:
    """The same amid writing, where it is time: plans that a session made of small tables read all of the large ones.

    Args:
        before: How many rows had been written when this was called last.
        done: How many are by now.
    """
    step = FIRST
    while step <= before:
        step *= TIMES
    if done >= step:
        renew()


def count() -> None:
    """The same, with its errors. Only our own tables: those of the server are shared with its other databases."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA analysis_limit = 1000")
            cursor.execute("ANALYZE")
            return
        tables = connection.introspection.django_table_names(only_existing=True)
        cursor.execute(f"ANALYZE {', '.join(map(connection.ops.quote_name, tables))}")


def take_for_shared(*, using: str, **_: Any) -> None:
    """Let plans expect the rows of many shops in each table; a receiver of ``post_migrate``.

    One plan serves every shop. Where one shop has nearly all rows, a plan made from counts reads the table along its
    primary key and leaves out the few rows of others: seconds, for each of the others. Takes effect as ``ANALYZE``
    does, which follows for tables with rows; locks out neither readers nor writers.
    """
    here = connections[using]
    if here.vendor != "postgresql":
        return
    named = {model._meta.db_table for model in apps.get_models() if _has_rows_of_shops(model)}
    with here.cursor() as cursor:
        cursor.execute(_TAKEN_FOR_OTHER, [f"n_distinct={SHOPS}", sorted(named)])
        for table, filled in cursor.fetchall():
            name = here.ops.quote_name(table)
            cursor.execute(f"ALTER TABLE {name} ALTER COLUMN shop_id SET (n_distinct = {SHOPS})")
            if filled:
                cursor.execute(f"ANALYZE {name}")


def _has_rows_of_shops(model: Any) -> bool:
    return any(field.column == "shop_id" and not field.unique for field in model._meta.concrete_fields)


_TAKEN_FOR_OTHER = """
SELECT c.relname, pg_relation_size(c.oid) > 0
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
WHERE a.attname = 'shop_id' AND a.attoptions IS DISTINCT FROM ARRAY[%s]
    AND c.relkind IN ('r', 'p') AND pg_table_is_visible(c.oid) AND c.relname = ANY(%s)
"""
