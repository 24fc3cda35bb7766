"""The metafields app: further fields of any resource."""

from django.apps import AppConfig


class MetafieldsConfig(AppConfig):
    """Gives every owner its topics, and registers the one that is always there: the shop."""

    name = "apps.metafields"

    def ready(self) -> None:
        """Let shops own metafields."""
        from apps.ground.personal import impersonal
        from apps.metafields import topics
        from apps.metafields.domain.owners import on_registration, register_owner
        from apps.metafields.impersonal import IMPERSONAL
        from apps.shops.models import Shop

        impersonal(IMPERSONAL)
        on_registration(topics.register_for)
        register_owner("", "shop", Shop, scope=None)
