"""Drop the triggers that protect events, so that tests can clear tables."""

from django.db import connections

from apps.core.events.redaction import TABLE, TRIGGERS


def drop_event_triggers(using: str = "default") -> None:
    """Drop the triggers. Call ``create_event_triggers`` afterwards."""
    database = connections[using]
    on = f" ON {TABLE}" if database.vendor == "postgresql" else ""
    with database.cursor() as cursor:
        for name in TRIGGERS:
            cursor.execute(f"DROP TRIGGER IF EXISTS {name}{on}")
