"""App configuration for events."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class EventsConfig(AppConfig):
    name = "apps.core.events"

    def ready(self) -> None:
        from apps.core.events import redaction

        post_migrate.connect(redaction.create_event_triggers, sender=self, dispatch_uid="events.guarding")
