"""The exchange app: files of the store's data that go out and come in."""

from django.apps import AppConfig


class ExchangeConfig(AppConfig):
    """Registers the kinds of files and the background work."""

    name = "apps.exchange"

    def ready(self) -> None:
        """Connect the files with the registries."""
        from apps.exchange import kinds, tasks, topics
        from apps.exchange.impersonal import IMPERSONAL
        from apps.exchange.kinds import erasing
        from apps.ground.personal import impersonal

        impersonal(IMPERSONAL)
        kinds.register_all()
        erasing.register_all()
        topics.register_all()
        tasks.register_all()
