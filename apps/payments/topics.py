"""The topics that payments publish."""

from apps.api.topics import PLAIN, register_resource
from apps.payments.api.payment_handlers import PaymentHandlerSerializer


def register_all() -> None:
    """Add the topics."""
    register_resource(
        "payment_handlers",
        "Payment handler",
        PaymentHandlerSerializer,
        scope="read_payment_handlers",
        verbs={**PLAIN, "redeem": "accepted a token"},
    )
