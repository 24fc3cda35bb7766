"""Django app configuration for inventory."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy


class InventoryConfig(AppConfig):
    name = "apps.inventory"

    def ready(self) -> None:
        """Register topics, demo data, checks, low-stock jobs and the function that creates a shop's first location."""
        from apps.ground.privacy_registry import declare_non_personal
        from apps.inventory import demo, topics
        from apps.inventory.domain import ledger_check, locations, low_stock, stock
        from apps.inventory.privacy import NON_PERSONAL_COLUMNS
        from apps.jobs.domain import consistency_checks, queue
        from apps.jobs.domain.periodic_tasks import nightly_tasks
        from apps.shops.domain.currency_change import register_currency_objection
        from apps.shops.domain.demo_store import register_demo_data
        from apps.shops.domain.setting_hooks import register_setting_callback
        from apps.shops.domain.shop_creation import register_shop_initializer

        declare_non_personal(NON_PERSONAL_COLUMNS)
        topics.register_inventory_topics()
        consistency_checks.register_consistency_check("stock", lambda: map(str, ledger_check.find_differences()))
        register_shop_initializer("location", locations.create_first_location)
        register_currency_objection(stock.check_cost_decimals)
        register_demo_data("locations", demo.load_demo_locations)
        queue.register_task(low_stock.MARK_TASK, low_stock.run_mark_low, gettext_lazy("Update low stock"))
        register_setting_callback("low_stock_at", low_stock.enqueue_mark_low)
        nightly_tasks.register("low stock", low_stock.mark_low_levels_of_all_shops)
