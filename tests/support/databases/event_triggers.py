from django.db import connection

from apps.core.events.redaction import TABLE, TRIGGERS


def drop_event_triggers() -> None:
    """Drop the triggers. Call ``create_event_triggers`` afterwards."""
    on = f" ON {TABLE}" if connection.vendor == "postgresql" else ""
    with connection.cursor() as cursor:
        for name in TRIGGERS:
            cursor.execute(f"DROP TRIGGER IF EXISTS {name}{on}")
