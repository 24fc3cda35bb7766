"""Refresh the database planner's statistics after large writes.

Without statistics a planner assumes that a table of a million rows is empty, and reads the whole table.
"""

import logging
from typing import Any

from django.apps import apps
from django.db import DatabaseError, connection, connections, transaction

logger = logging.getLogger(__name__)

# The minimum number of new rows for a refresh: fewer rows change no plan, and PostgreSQL's autovacuum counts them.
MIN_CHANGED_ROWS = 100
# The number of shops that PostgreSQL should assume in each table, regardless of the real number.
ASSUMED_SHOPS = 50
# During a long write, statistics are refreshed after this many rows, and then whenever the number has quadrupled.
FIRST_REFRESH, REFRESH_FACTOR = 1_000, 4


def refresh_statistics() -> None:
    """Refresh the statistics from samples (seconds at a million rows); log a failure, because the write is done."""
    try:
        with transaction.atomic():
            analyze_tables()
    except DatabaseError:
        logger.warning("The table statistics could not be refreshed.", exc_info=True)


def refresh_statistics_while_writing(before: int, after: int) -> None:
    """Refresh the statistics during a long write, if a refresh is due.

    Without a refresh, plans made while the tables were small would read whole tables that have grown large.

    Args:
        before: The number of rows written at the previous call.
        after: The number of rows written by now.
    """
    step = FIRST_REFRESH
    while step <= before:
        step *= REFRESH_FACTOR
    if after >= step:
        refresh_statistics()


def analyze_tables() -> None:
    """Refresh the statistics of our own tables; the server's system tables are shared with other databases."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA analysis_limit = 1000")
            cursor.execute("ANALYZE")
            return
        tables = connection.introspection.django_table_names(only_existing=True)
        cursor.execute(f"ANALYZE {', '.join(map(connection.ops.quote_name, tables))}")


def set_shop_id_statistics(*, using: str, **_: Any) -> None:
    """Make plans expect the rows of many shops in each table; a receiver of ``post_migrate``.

    One plan serves every shop. If one shop has nearly all rows, a plan based on real counts walks the table along its
    primary key and filters out the few rows of other shops, which takes seconds for each of the others. The setting
    takes effect with ``ANALYZE``, which follows for tables with rows; it blocks neither readers nor writers.
    """
    connection = connections[using]
    if connection.vendor != "postgresql":
        return
    shop_tables = {model._meta.db_table for model in apps.get_models() if _is_shared_by_shops(model)}
    with connection.cursor() as cursor:
        cursor.execute(_UNSET_TABLES_SQL, [f"n_distinct={ASSUMED_SHOPS}", sorted(shop_tables)])
        for table, has_rows in cursor.fetchall():
            name = connection.ops.quote_name(table)
            cursor.execute(f"ALTER TABLE {name} ALTER COLUMN shop_id SET (n_distinct = {ASSUMED_SHOPS})")
            if has_rows:
                cursor.execute(f"ANALYZE {name}")


def _is_shared_by_shops(model: Any) -> bool:
    return any(field.column == "shop_id" and not field.unique for field in model._meta.concrete_fields)


_UNSET_TABLES_SQL = """
SELECT c.relname, pg_relation_size(c.oid) > 0
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
WHERE a.attname = 'shop_id' AND a.attoptions IS DISTINCT FROM ARRAY[%s]
    AND c.relkind IN ('r', 'p') AND pg_table_is_visible(c.oid) AND c.relname = ANY(%s)
"""
