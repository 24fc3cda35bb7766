"""The topics that payments publish."""

from django.utils.translation import gettext_noop

from apps.api.topics import PLAIN, register_resource
from apps.payments.api.payment_handlers import PaymentHandlerSerializer


def register_all() -> None:
    """Add the topics."""
    register_resource(
        "payment_handlers",
        gettext_noop("Payment handler"),
        PaymentHandlerSerializer,
        scope="read_payment_handlers",
        verbs={**PLAIN, "redeem": gettext_noop("Payment handler accepted a token")},
    )
