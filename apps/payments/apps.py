"""The payments app: the wallet payment handler of the checkout."""

from django.apps import AppConfig


class PaymentsConfig(AppConfig):
    """Registers topics and the demo store's part."""

    name = "apps.payments"

    def ready(self) -> None:
        """Connect payments with the registries."""
        from apps.ground.personal import impersonal
        from apps.payments import demo, topics
        from apps.payments.impersonal import IMPERSONAL
        from apps.shops.domain.demo_store import register

        impersonal(IMPERSONAL)
        topics.register_all()
        register("payments", demo.make)
