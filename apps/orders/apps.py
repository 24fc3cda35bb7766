"""The orders app: what was bought, by whom, and how it was paid."""

from django.apps import AppConfig


class OrdersConfig(AppConfig):
    """Registers topics, timelines, jobs, metafields, personal data and the demo's orders."""

    name = "apps.orders"

    def ready(self) -> None:
        """Connect orders with the registries."""
        from apps.customers.domain import personal_data
        from apps.events.domain import timelines
        from apps.metafields.domain.owners import register_owner
        from apps.orders import demo, tasks, topics
        from apps.orders.domain import privacy
        from apps.orders.models import Order
        from apps.shops.domain.demo_store import register

        topics.register_all()
        tasks.register_all()
        personal_data.register("orders", export=privacy.export, redact=privacy.redact)
        register("orders", demo.make)
        timelines.register("orders", Order, scope="orders")
        register_owner("orders", "order", Order, scope="orders", personal=True)
