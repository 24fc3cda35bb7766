import atexit

from django.apps import AppConfig
from django.db import connections

from apps.core.registry import MODULE_NAMES, autodiscover


class CoreConfig(AppConfig):
    """The first app of the product. It imports the modules of all apps that fill registries."""

    name = "apps.core"

    def ready(self) -> None:
        autodiscover(*MODULE_NAMES)
        # When the last connection is closed, SQLite writes the contents of its log to the database file.
        atexit.register(connections.close_all)
