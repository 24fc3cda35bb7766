"""Refresh the database planner's statistics after large writes.

Without current statistics, the planner assumes that a table with a million rows is empty, and scans the whole table.
"""

import logging
from typing import Any

from django.apps import apps
from django.db import DatabaseError, connection, connections, transaction

logger = logging.getLogger(__name__)

# Statistics are only refreshed after this many new rows. Fewer rows do not change query plans.
MIN_CHANGED_ROWS = 100
# The number of shops that PostgreSQL's planner should assume in each table, regardless of the real number.
ASSUMED_SHOPS = 50
# During a long write, statistics are refreshed after 1,000 rows, and then each time the number of rows has quadrupled.
FIRST_REFRESH, REFRESH_FACTOR = 1_000, 4


def refresh_statistics() -> None:
    """Refresh the statistics from samples (seconds for a million rows). Failures are only logged."""
    try:
        with transaction.atomic():
            analyze_tables()
    except DatabaseError:
        logger.warning("The table statistics could not be refreshed.", exc_info=True)


def refresh_statistics_while_writing(before: int, after: int) -> None:
    """Refresh the statistics if a refresh became due between ``before`` and ``after`` written rows."""
    step = FIRST_REFRESH
    while step <= before:
        step *= REFRESH_FACTOR
    if after >= step:
        refresh_statistics()


def analyze_tables() -> None:
    """Refresh the statistics of our own tables. The server's system tables are skipped."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA analysis_limit = 1000")
            cursor.execute("ANALYZE")
            return
        tables = connection.introspection.django_table_names(only_existing=True)
        cursor.execute(f"ANALYZE {', '.join(map(connection.ops.quote_name, tables))}")


def set_shop_id_statistics(*, using: str, **_: Any) -> None:
    """Make the planner expect rows of many shops in each table (a receiver of ``post_migrate``).

    All shops use the same query plans. If one shop has nearly all rows of a table, a plan based on the real numbers
    scans the primary key and filters by shop. This plan is fast for the large shop, but takes seconds for the small
    shops. The setting takes effect with ``ANALYZE``, which this function runs for tables with rows. Neither readers nor
    writers are blocked.
    """
    connection = connections[using]
    if connection.vendor != "postgresql":
        return
    shop_tables = {
        model._meta.db_table
        for model in apps.get_models()
        if any(field.column == "shop_id" and not field.unique for field in model._meta.concrete_fields)
    }
    with connection.cursor() as cursor:
        cursor.execute(_UNSET_TABLES_SQL, [f"n_distinct={ASSUMED_SHOPS}", sorted(shop_tables)])
        for table, has_rows in cursor.fetchall():
            name = connection.ops.quote_name(table)
            cursor.execute(f"ALTER TABLE {name} ALTER COLUMN shop_id SET (n_distinct = {ASSUMED_SHOPS})")
            if has_rows:
                cursor.execute(f"ANALYZE {name}")


_UNSET_TABLES_SQL = """
SELECT c.relname, pg_relation_size(c.oid) > 0
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
WHERE a.attname = 'shop_id' AND a.attoptions IS DISTINCT FROM ARRAY[%s]
    AND c.relkind IN ('r', 'p') AND pg_table_is_visible(c.oid) AND c.relname = ANY(%s)
"""
