"""Django app configuration for payments."""

from django.apps import AppConfig


class PaymentsConfig(AppConfig):
    """The app configuration, which registers topics and demo data."""

    name = "apps.payments"

    def ready(self) -> None:
        from apps.ground.privacy_registry import declare_non_personal
        from apps.payments import demo, topics
        from apps.payments.privacy import NON_PERSONAL_COLUMNS
        from apps.shops.domain.demo_store import register_demo_data

        declare_non_personal(NON_PERSONAL_COLUMNS)
        topics.register_payment_topics()
        register_demo_data("payments", demo.create_demo_handlers)
