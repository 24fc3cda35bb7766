"""App configuration for events."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class EventsConfig(AppConfig):
    """Registers the event recorder for apps in lower layers, and the triggers that protect the audit log."""

    name = "apps.events"

    def ready(self) -> None:
        """Register the recorder, the non-personal columns and the triggers."""
        from apps.events.domain import immutability
        from apps.events.domain.recording import record_event
        from apps.events.privacy import NON_PERSONAL_COLUMNS
        from apps.ground.privacy_registry import declare_non_personal
        from apps.shops.domain.event_recorder import register_recorder

        declare_non_personal(NON_PERSONAL_COLUMNS)
        register_recorder(record_event)
        post_migrate.connect(immutability.create_event_triggers, sender=self, dispatch_uid="events.guarding")
