"""App configuration for orders."""

from django.apps import AppConfig


class OrdersConfig(AppConfig):
    name = "apps.orders"

    def ready(self) -> None:
        """Register the topics, tasks and functions that the orders app provides to other apps."""
        from apps.customers.domain import merge as merging_customers
        from apps.customers.domain import personal_data
        from apps.events.domain import timelines
        from apps.ground.privacy_registry import declare_non_personal
        from apps.jobs.domain import consistency_checks as nightly
        from apps.metafields.domain.owners import register_owner
        from apps.orders import demo, tasks, topics
        from apps.orders.domain import consistency_checks, currency_lock, customer_merge, privacy
        from apps.orders.models import Order
        from apps.orders.privacy import NON_PERSONAL_COLUMNS
        from apps.shops.domain.currency_change import register_currency_objection
        from apps.shops.domain.demo_store import register_demo_data

        declare_non_personal(NON_PERSONAL_COLUMNS)
        topics.register_order_topics()
        tasks.register_order_tasks()
        personal_data.register_personal_data(
            "orders",
            export=privacy.export_orders,
            redact=privacy.redact_orders,
            personal_columns=privacy.PERSONAL_COLUMNS,
            locked_before=privacy.get_orders_to_redact,
            ids=privacy.get_order_ids,
            redact_some=privacy.redact_next_orders,
        )
        merging_customers.register_merge_part(
            "orders", rows=customer_merge.get_orders_to_merge, move=customer_merge.move_orders
        )
        register_currency_objection(currency_lock.get_currency_objection)
        register_demo_data("orders", demo.create_demo_orders)
        nightly.register_consistency_check("order totals", consistency_checks.check_order_totals)
        nightly.register_consistency_check("order payments", consistency_checks.check_order_payments)
        nightly.register_consistency_check("order numbers", consistency_checks.check_order_numbers)
        nightly.register_consistency_check("customer totals", consistency_checks.check_customer_columns)
        nightly.register_consistency_check("units sold", consistency_checks.check_sold_units)
        timelines.register_timeline("orders", Order, scope="orders")
        register_owner("orders", "order", Order, scope="orders", personal=True)
