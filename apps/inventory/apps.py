"""The inventory app: where goods lie and how many."""

from django.apps import AppConfig


class InventoryConfig(AppConfig):
    """Registers topics, the first location of a new shop, and the demo store's."""

    name = "apps.inventory"

    def ready(self) -> None:
        """Connect inventory with the registries."""
        from apps.inventory import demo, topics
        from apps.inventory.domain import locations
        from apps.shops.domain.demo_store import register
        from apps.shops.domain.opening import starter

        topics.register_all()
        starter("location", locations.open_first)
        register("locations", demo.make)
