"""App config for the metafields app."""

from django.apps import AppConfig


class MetafieldsConfig(AppConfig):
    """App config that registers topics for each owner type, and the shop as the first owner type."""

    name = "apps.metafields"

    def ready(self) -> None:
        from apps.ground.privacy_registry import declare_non_personal
        from apps.metafields import webhook_topics
        from apps.metafields.domain.owners import on_owner_registered, register_owner
        from apps.metafields.privacy import NON_PERSONAL_COLUMNS
        from apps.shops.models import Shop

        declare_non_personal(NON_PERSONAL_COLUMNS)
        on_owner_registered(webhook_topics.register_metafield_topics)
        register_owner("", "shop", Shop, scope=None)
