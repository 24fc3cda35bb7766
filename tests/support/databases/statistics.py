"""PostgreSQL's statistics, on which query plans depend."""

from django.db.backends.utils import CursorWrapper


def forget_statistics(cursor: CursorWrapper, *tables: str) -> None:
    """Delete the statistics of tables (``LIKE`` patterns) until the end of the transaction.

    Other tests or autovacuum may have left statistics of other rows.
    """
    cursor.execute("DELETE FROM pg_statistic WHERE starelid::regclass::text LIKE ANY (%s)", [list(tables)])
    cursor.execute("UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE relname LIKE ANY (%s)", [list(tables)])
