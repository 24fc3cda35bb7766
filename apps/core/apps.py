from django.apps import AppConfig

from apps.core.registry import MODULE_NAMES, autodiscover


class CoreConfig(AppConfig):
    """The first app of the product. It imports the modules of all apps that fill registries."""

    name = "apps.core"

    def ready(self) -> None:
        autodiscover(*MODULE_NAMES)
