"""The inventory app: where goods lie and how many."""

from django.apps import AppConfig


class InventoryConfig(AppConfig):
    """Registers topics, the first location of a new shop, and the demo store's."""

    name = "apps.inventory"

    def ready(self) -> None:
        """Connect inventory with the registries."""
        from apps.ground.personal import impersonal
        from apps.inventory import demo, topics
        from apps.inventory.domain import ledger, locations, stock
        from apps.inventory.impersonal import IMPERSONAL
        from apps.jobs.domain import reconciliation
        from apps.shops.domain.currency import on_currency_change
        from apps.shops.domain.demo_store import register
        from apps.shops.domain.opening import starter

        impersonal(IMPERSONAL)
        topics.register_all()
        reconciliation.register("stock", lambda: map(str, ledger.differences()))
        starter("location", locations.open_first)
        on_currency_change(stock.object_to_currency)
        register("locations", demo.make)
