"""App configuration for refunds."""

from django.apps import AppConfig


class RefundsConfig(AppConfig):
    name = "apps.refunds"

    def ready(self) -> None:
        """Register refunds with the registries of other apps."""
        from apps.api.resources.nested_rows import NestedRows
        from apps.customers.domain import personal_data
        from apps.ground.privacy_registry import declare_non_personal
        from apps.jobs.domain import consistency_checks as nightly
        from apps.orders.api.orders import set_order_member
        from apps.orders.domain import hooks
        from apps.refunds import demo, tasks, topics
        from apps.refunds.api.parsing import parse_and_refund_order
        from apps.refunds.api.refunds import RefundSerializer
        from apps.refunds.domain import consistency_checks, privacy
        from apps.refunds.privacy import NON_PERSONAL_COLUMNS
        from apps.shops.domain.demo_store import register_demo_data

        declare_non_personal(NON_PERSONAL_COLUMNS)
        topics.register_refund_topics()
        tasks.register_refund_tasks()
        personal_data.register_personal_data(
            "refunds",
            export=privacy.export_refund_notes,
            redact=privacy.redact_refunds,
            personal_columns=privacy.PERSONAL_COLUMNS,
        )
        nightly.register_consistency_check("order refunds", consistency_checks.check_refunds)
        hooks.register_erasure_hook(privacy.erase_refund_notes)
        hooks.set_refund_hook(parse_and_refund_order)
        register_demo_data("refunds", demo.create_demo_refunds)
        set_order_member("refunds", NestedRows(RefundSerializer, "refunds"))
