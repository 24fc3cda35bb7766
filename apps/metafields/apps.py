"""The metafields app: further fields of any resource."""

from django.apps import AppConfig


class MetafieldsConfig(AppConfig):
    """Registers the owner that is always there: the shop."""

    name = "apps.metafields"

    def ready(self) -> None:
        """Let shops own metafields."""
        from apps.metafields.domain.owners import register_owner
        from apps.shops.models import Shop

        register_owner("", "shop", Shop, scope=None)
