"""Webhook topics for payment handlers."""

from django.utils.translation import gettext_noop

from apps.api.webhook_topics import DEFAULT_LABELS, register_resource_topics
from apps.payments.api.payment_handlers import PaymentHandlerSerializer


def register_payment_topics() -> None:
    register_resource_topics(
        "payment_handlers",
        gettext_noop("Payment handler"),
        PaymentHandlerSerializer,
        scope="read_payment_handlers",
        verbs={**DEFAULT_LABELS, "redeem": gettext_noop("Payment handler accepted a token")},
    )
