"""The webhooks app: subscriptions to events, and the engine that delivers them."""

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    """Listens to the recorder of events, and follows what becomes of apps and of people's data."""

    name = "apps.webhooks"

    def ready(self) -> None:
        """Connect webhooks with the registries."""
        from apps.events.domain.forgetting import on_forget
        from apps.events.domain.recording import add_audience
        from apps.ground.personal import impersonal, personal
        from apps.shops.domain.installing import on_grant, on_uninstall
        from apps.webhooks import tasks, topics
        from apps.webhooks.api.metafields import read_metafields
        from apps.webhooks.domain import compliance, destinations, forgetting, listening, subscriptions
        from apps.webhooks.domain.engine import queues
        from apps.webhooks.impersonal import IMPERSONAL, PERSONAL

        impersonal(IMPERSONAL)
        personal(PERSONAL)
        destinations.enable(*queues.schemes())
        topics.register_all()
        tasks.register_all()
        add_audience(listening.audience, listening.note)
        listening.use_metafields(read_metafields)
        on_grant(subscriptions.follow_grant)
        on_uninstall("webhook subscriptions", compliance.follow_uninstalling)
        on_forget(forgetting.forget_deliveries)
