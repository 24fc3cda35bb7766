"""The exchange app: files of customers, orders and the audit log that go out and come in."""

from django.apps import AppConfig


class ExchangeConfig(AppConfig):
    """Registers the background work."""

    name = "apps.exchange"

    def ready(self) -> None:
        """Connect the files with the registries."""
        from apps.exchange import tasks

        tasks.register_all()
