"""App configuration for webhooks."""

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    """Registers the topics, tasks and callbacks of webhooks with other apps."""

    name = "apps.webhooks"

    def ready(self) -> None:
        from apps.events.domain.recording import register_audience
        from apps.events.domain.redaction import register_redaction_hook
        from apps.ground.privacy_registry import declare_non_personal, declare_personal
        from apps.shops.domain.app_installation import register_grant_callback, register_uninstall_cleaner
        from apps.webhooks import tasks, topics
        from apps.webhooks.api.metafields import read_metafields
        from apps.webhooks.domain import audience, endpoints, privacy_webhooks, redaction, subscriptions
        from apps.webhooks.domain.engine import transports
        from apps.webhooks.privacy import NON_PERSONAL_COLUMNS, PERSONAL_COLUMNS

        declare_non_personal(NON_PERSONAL_COLUMNS)
        declare_personal(PERSONAL_COLUMNS)
        endpoints.enable_schemes(*transports.get_enabled_schemes())
        topics.register_webhook_topics()
        tasks.register_webhook_tasks()
        register_audience(audience.get_api_versions, audience.add_to_outbox)
        audience.set_metafield_renderer(read_metafields)
        register_grant_callback(subscriptions.refresh_listeners_on_grant)
        register_uninstall_cleaner("webhook subscriptions", privacy_webhooks.handle_uninstall)
        register_redaction_hook(redaction.redact_deliveries)
