"""The topics that refunds publish."""

from apps.api.topics import register_resource
from apps.refunds.api.refunds import RefundSerializer


def register_all() -> None:
    """Add the topics."""
    register_resource("refunds", "Refund", RefundSerializer, scope="read_orders", verbs={"create": "made"})
