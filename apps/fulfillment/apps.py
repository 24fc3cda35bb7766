"""Django app configuration for fulfillment."""

from django.apps import AppConfig


class FulfillmentConfig(AppConfig):
    name = "apps.fulfillment"

    def ready(self) -> None:
        """Register topics, tasks, demo data, order hooks, privacy handlers, and consistency checks."""
        from apps.api.resources.nested_rows import NestedRows
        from apps.catalog.domain import fulfillment_service_choices
        from apps.customers.domain import personal_data
        from apps.fulfillment import demo, tasks, topics
        from apps.fulfillment.api.fulfillments import FulfillmentSerializer
        from apps.fulfillment.domain import callback_retention, consistency_checks, order_hooks, services
        from apps.fulfillment.privacy import NON_PERSONAL_COLUMNS
        from apps.fulfillment.public import tracking_section
        from apps.ground.privacy_registry import declare_non_personal, declare_personal
        from apps.inventory.domain.locations import register_objection_source
        from apps.jobs.domain import consistency_checks as nightly
        from apps.orders.api.orders import set_order_member
        from apps.orders.domain import hooks
        from apps.orders.public import status_page_sections
        from apps.shops.domain.app_installation import register_uninstall_cleaner
        from apps.shops.domain.demo_store import register_demo_data

        declare_non_personal(NON_PERSONAL_COLUMNS)
        declare_personal(order_hooks.PERSONAL_COLUMNS)
        topics.register_fulfillment_topics()
        tasks.register_fulfillment_tasks()
        hooks.register_creation_hook(order_hooks.route_new_orders)
        hooks.register_cancellation_hook(order_hooks.close_cancelled_order)
        hooks.register_edit_hook(order_hooks.update_edited_order)
        hooks.register_erasure_hook(order_hooks.erase_fulfillment_data)
        status_page_sections.register_status_page_section(
            tracking_section.TEMPLATE, tracking_section.get_tracking_context
        )
        set_order_member("fulfillments", NestedRows(FulfillmentSerializer, "fulfillments"))
        register_objection_source("fulfillment orders", order_hooks.get_deactivation_objections)
        nightly.register_consistency_check(
            "fulfillment order quantities", consistency_checks.find_wrong_fulfillable_quantities
        )
        nightly.register_consistency_check("fulfilled quantities", consistency_checks.find_wrong_fulfilled_quantities)
        personal_data.register_personal_data(
            "calls to fulfillment services",
            redact=callback_retention.redact_attempts,
            personal_columns=callback_retention.PERSONAL_COLUMNS,
        )
        fulfillment_service_choices.register_service_handles(services.get_service_handles)
        register_demo_data("fulfillment", demo.load_demo_fulfillment)
        register_uninstall_cleaner("fulfillment services", services.delete_services_of_app)
