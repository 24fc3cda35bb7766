"""What the database's planner knows of the tables: renewed where much was written at once.

A planner without statistics takes a table of a million rows for an empty one, and reads all of it.
"""

import logging

from django.db import DatabaseError, connection, transaction

logger = logging.getLogger(__name__)

# Fewer new rows than these change no plan; PostgreSQL counts them by itself.
MANY = 100


def renew() -> None:
    """Count again, by samples; takes seconds at a million rows. A failure is logged: the work before it was done."""
    try:
        with transaction.atomic():
            count()
    except DatabaseError:
        logger.warning("The statistics of the tables could not be renewed.", exc_info=True)


def count() -> None:
    """The same, with its errors. Only our own tables: those of the server are shared with its other databases."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA analysis_limit = 1000")
            cursor.execute("ANALYZE")
            return
        tables = connection.introspection.django_table_names(only_existing=True)
        cursor.execute(f"ANALYZE {', '.join(map(connection.ops.quote_name, tables))}")
