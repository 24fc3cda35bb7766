"""The bulk app: many rows are changed at once, looked at before, reported on, and put back."""

from django.apps import AppConfig


class BulkConfig(AppConfig):
    """Registers the kinds of rows and the background work."""

    name = "apps.bulk"

    def ready(self) -> None:
        """Connect bulk edits with the registries."""
        from apps.bulk import kinds, tasks, topics
        from apps.bulk.impersonal import IMPERSONAL
        from apps.bulk.kinds import erasing
        from apps.ground.personal import impersonal

        impersonal(IMPERSONAL)
        kinds.register_all()
        erasing.register_all()
        topics.register_all()
        tasks.register_all()
