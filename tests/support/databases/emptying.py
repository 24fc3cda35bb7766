"""Empty the test database after a test with real commits.

Django's ``flush`` takes 0.2 seconds of CPU time, because it deletes the rows of every table and then runs the receivers
of ``post_migrate``. This module deletes rows only from tables that have rows, and keeps the rows that the receivers
create. The receivers run only if the test dropped or created a trigger.
"""

from functools import cache

from django.core.management.sql import emit_post_migrate_signal
from django.db import connection, transaction

from apps.core.events import redaction
from tests.support.databases.event_triggers import drop_event_triggers
from tests.support.databases.statistics import forget_statistics

# The receivers of ``post_migrate`` create these rows.
KEPT = {"django_content_type", "auth_permission"}
_TRIGGERS = {
    "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1",
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger' ORDER BY 1",
}


@cache
def get_initial_triggers() -> list[str]:
    """Return the triggers that the migrations created. The first call must be before the first test."""
    return get_triggers()


def get_triggers() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(_TRIGGERS[connection.vendor])
        return [name for (name,) in cursor.fetchall()]


def empty_database() -> None:
    """Delete the statistics and all rows except ``KEPT``, and restore the triggers that migrations create."""
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    by_table = (f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM \"{table}\")" for table in {*tables} - KEPT)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(by_table))
        filled = [table for (table,) in cursor.fetchall()]
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL session_replication_role = replica")  # Triggers and foreign keys are not checked.
        elif redaction.TABLE in filled:
            drop_event_triggers()
        for table in filled:
            cursor.execute(f'DELETE FROM "{table}"')
        forget_statistics(cursor)
        if connection.vendor == "sqlite" and redaction.TABLE in filled:
            redaction.create_event_triggers()
    if get_triggers() != get_initial_triggers():
        emit_post_migrate_signal(verbosity=0, interactive=False, db=connection.alias)
