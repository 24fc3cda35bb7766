"""The inventory app: where goods lie and how many."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy


class InventoryConfig(AppConfig):
    """Registers topics, the first location of a new shop, the demo store's, and who looks for low stock."""

    name = "apps.inventory"

    def ready(self) -> None:
        """Connect inventory with the registries."""
        from apps.ground.personal import impersonal
        from apps.inventory import demo, topics
        from apps.inventory.domain import ledger, locations, low, stock
        from apps.inventory.impersonal import IMPERSONAL
        from apps.jobs.domain import queue, reconciliation
        from apps.jobs.domain.duties import each_night
        from apps.shops.domain.currency import on_currency_change
        from apps.shops.domain.demo_store import register
        from apps.shops.domain.opening import starter
        from apps.shops.domain.settings import on_setting

        impersonal(IMPERSONAL)
        topics.register_all()
        reconciliation.register("stock", lambda: map(str, ledger.differences()))
        starter("location", locations.open_first)
        on_currency_change(stock.object_to_currency)
        register("locations", demo.make)
        queue.register(low.MARK, low.run, gettext_lazy("Looking for low stock"))
        on_setting("low_stock_at", low.mark_later)
        each_night.register("low stock", low.mark_all)
