"""The refunds app: money that goes back, and the goods that it is for."""

from django.apps import AppConfig


class RefundsConfig(AppConfig):
    """Registers what refunds add to orders, topics, jobs, personal data, the nightly checks and the demo's refunds."""

    name = "apps.refunds"

    def ready(self) -> None:
        """Connect refunds with the registries."""
        from apps.api.resources.related import Rows
        from apps.customers.domain import personal_data
        from apps.ground.personal import impersonal
        from apps.jobs.domain import reconciliation as nightly
        from apps.orders.api.orders import show
        from apps.orders.domain import hooks
        from apps.refunds import demo, tasks, topics
        from apps.refunds.api.bodies import refund_cancelled
        from apps.refunds.api.refunds import RefundSerializer
        from apps.refunds.domain import privacy, reconciliation
        from apps.refunds.impersonal import IMPERSONAL
        from apps.shops.domain.demo_store import register

        impersonal(IMPERSONAL)
        topics.register_all()
        tasks.register_all()
        personal_data.register("refunds", export=privacy.export, redact=privacy.redact, places=privacy.PLACES)
        nightly.register("refunds of orders", reconciliation.refunds)
        hooks.on_erase(privacy.erase)
        hooks.use_refunder(refund_cancelled)
        register("refunds", demo.make)
        show("refunds", Rows(RefundSerializer, "refunds"))
