"""The events app: the outbox and audit trail."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class EventsConfig(AppConfig):
    """Lends its recorder to the apps below it, and has the database guard the trail."""

    name = "apps.events"

    def ready(self) -> None:
        """Plug the recorder into the shops."""
        from apps.events.domain import guarding
        from apps.events.domain.recording import record_event
        from apps.events.impersonal import IMPERSONAL
        from apps.ground.personal import impersonal
        from apps.shops.domain.records import use_recorder

        impersonal(IMPERSONAL)
        use_recorder(record_event)
        post_migrate.connect(guarding.ensure, sender=self, dispatch_uid="events.guarding")
