"""The statistics of the tables and the pages of deleted rows, on which query plans depend in addition to the rows.

Rolling back a test restores neither. A test of query plans therefore fills the shared shop (``shop_with``), which first
calls ``vacuum_tables``, and ends with ``collect_statistics``. A test that cannot do so forgets the statistics.
"""

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from apps.core.db import planner_statistics

_TABLES_SQL = "SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"


def disable_autovacuum(cursor: CursorWrapper) -> None:
    """Prevent autovacuum from collecting statistics in the middle of a test."""
    cursor.execute(f"SELECT oid::regclass::text FROM pg_class WHERE oid IN ({_TABLES_SQL}) AND relkind = 'r'")
    for (name,) in cursor.fetchall():
        cursor.execute(f"ALTER TABLE {name} SET (autovacuum_enabled = off)")


def vacuum_tables(cursor: CursorWrapper) -> None:
    """Remove deleted rows and statistics, so that earlier tests make no difference. No transaction may be open."""
    cursor.execute(f"SELECT oid::regclass::text FROM pg_class WHERE oid IN ({_TABLES_SQL}) AND relkind = 'r'")
    cursor.execute(f"VACUUM (SKIP_LOCKED) {', '.join(name for (name,) in cursor.fetchall())}")
    forget_statistics(cursor)


def collect_statistics() -> None:
    """Collect the statistics of all tables. On PostgreSQL, first rebuild all indexes with rows.

    The planner counts an index's pages. Only a rebuild removes the pages that tests have filled and rolled back. It
    also indexes the rows that a GIN index keeps in a pending list until VACUUM.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # Pending checks of constraints prevent a rebuild.
            cursor.execute(
                f"SELECT DISTINCT indrelid::regclass::text FROM pg_index WHERE indrelid IN ({_TABLES_SQL})"
                " AND pg_relation_size(indexrelid) > 2 * 8192"
            )
            for (name,) in cursor.fetchall():
                cursor.execute(f"REINDEX TABLE {name}")
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")
    planner_statistics.analyze_tables()


def forget_statistics(cursor: CursorWrapper) -> None:
    """Delete the statistics of all tables and indexes, as if nothing had ever been analyzed.

    SQLite reads them into memory with the schema. If a transaction is rolled back, SQLite reads the schema again only
    if the transaction changed the schema, for example by creating the tables of the statistics.
    """
    if connection.vendor == "sqlite":
        cursor.execute("SELECT name FROM sqlite_master WHERE name LIKE 'sqlite_stat_'")
        if names := [name for (name,) in cursor.fetchall()]:
            for name in names:
                cursor.execute(f"DROP TABLE {name}")
            with transaction.atomic():
                cursor.execute("CREATE TABLE schema_change (id)")
                transaction.set_rollback(True)
        return
    cursor.execute(f"DELETE FROM pg_statistic WHERE starelid IN ({_TABLES_SQL})")
    cursor.execute(
        f"""UPDATE pg_class SET reltuples = -1, relpages = 0
        WHERE (reltuples, relpages) <> (-1, 0) AND oid IN (
            {_TABLES_SQL} UNION ALL SELECT indexrelid FROM pg_index WHERE indrelid IN ({_TABLES_SQL})
        )"""
    )


def set_statistics_of_no_rows(cursor: CursorWrapper, table: str) -> None:
    """Set the numbers that ``ANALYZE`` leaves if a table's pages contain only deleted rows."""
    cursor.execute(
        "UPDATE pg_class SET reltuples = 0, relpages = 100 WHERE oid IN ("
        "SELECT indexrelid FROM pg_index WHERE indrelid = %(table)s::regclass UNION ALL SELECT %(table)s::regclass)",
        {"table": table},
    )
