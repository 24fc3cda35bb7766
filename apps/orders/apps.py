"""The orders app: what was bought, by whom, and how it was paid."""

from django.apps import AppConfig


class OrdersConfig(AppConfig):
    """Registers topics, timelines, jobs, metafields, personal data and the demo's orders."""

    name = "apps.orders"

    def ready(self) -> None:
        """Connect orders with the registries."""
        from apps.customers.domain import merging as merging_customers
        from apps.customers.domain import personal_data
        from apps.events.domain import timelines
        from apps.ground.personal import impersonal
        from apps.jobs.domain import reconciliation as nightly
        from apps.metafields.domain.owners import register_owner
        from apps.orders import demo, tasks, topics
        from apps.orders.domain import books, merging, privacy, reconciliation
        from apps.orders.impersonal import IMPERSONAL
        from apps.orders.models import Order
        from apps.shops.domain.currency import on_currency_change
        from apps.shops.domain.demo_store import register

        impersonal(IMPERSONAL)
        topics.register_all()
        tasks.register_all()
        personal_data.register(
            "orders",
            export=privacy.export,
            redact=privacy.redact,
            places=privacy.PLACES,
            locked_before=privacy.left_of,
            ids=privacy.ids_of,
            redact_some=privacy.redact_some,
        )
        merging_customers.register("orders", rows=merging.rows, move=merging.move)
        on_currency_change(books.object_to_currency)
        register("orders", demo.make)
        nightly.register("totals of orders", reconciliation.totals)
        nightly.register("payments of orders", reconciliation.payments)
        nightly.register("numbers of orders", reconciliation.numbers)
        nightly.register("customers' orders", reconciliation.customers)
        nightly.register("sold units", reconciliation.sales)
        timelines.register("orders", Order, scope="orders")
        register_owner("orders", "order", Order, scope="orders", personal=True)
