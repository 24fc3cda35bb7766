"""The events app: the outbox and audit trail."""

from django.apps import AppConfig


class EventsConfig(AppConfig):
    """Lends its recorder to the apps below it."""

    name = "apps.events"

    def ready(self) -> None:
        """Plug the recorder into the shops."""
        from apps.events.domain.recording import record_event
        from apps.shops.domain.records import use_recorder

        use_recorder(record_event)
