"""PostgreSQL's statistics, on which query plans depend.

A test of query plans collects or forgets statistics first, because ``ANALYZE`` in an earlier test can have changed them
although that test's transaction was rolled back.
"""

from django.db.backends.utils import CursorWrapper

_TABLES_SQL = "SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"


def disable_autovacuum(cursor: CursorWrapper) -> None:
    """Prevent autovacuum from collecting statistics in the middle of a test."""
    cursor.execute(f"SELECT oid::regclass::text FROM pg_class WHERE oid IN ({_TABLES_SQL}) AND relkind = 'r'")
    for (name,) in cursor.fetchall():
        cursor.execute(f"ALTER TABLE {name} SET (autovacuum_enabled = off)")


def forget_statistics(cursor: CursorWrapper) -> None:
    """Delete the statistics of all tables and indexes, as if nothing had ever been analyzed."""
    cursor.execute(f"DELETE FROM pg_statistic WHERE starelid IN ({_TABLES_SQL})")
    cursor.execute(
        f"""UPDATE pg_class SET reltuples = -1, relpages = 0
        WHERE (reltuples, relpages) <> (-1, 0) AND oid IN (
            {_TABLES_SQL} UNION ALL SELECT indexrelid FROM pg_index WHERE indrelid IN ({_TABLES_SQL})
        )"""
    )
