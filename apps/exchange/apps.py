"""App configuration for imports and exports."""

from django.apps import AppConfig


class ExchangeConfig(AppConfig):
    name = "apps.exchange"

    def ready(self) -> None:
        """Register resources, permissions, topics, tasks, and privacy handlers."""
        from apps.exchange import resources, tasks, topics
        from apps.exchange.privacy import NON_PERSONAL_COLUMNS
        from apps.exchange.resources import privacy
        from apps.ground.privacy_registry import declare_non_personal

        declare_non_personal(NON_PERSONAL_COLUMNS)
        resources.register_resources()
        privacy.register_privacy_handlers()
        topics.register_exchange_topics()
        tasks.register_exchange_tasks()
