"""The topics that refunds publish."""

from django.utils.translation import gettext_noop

from apps.api.topics import register_resource
from apps.refunds.api.refunds import RefundSerializer


def register_all() -> None:
    """Add the topics."""
    register_resource(
        "refunds",
        gettext_noop("Refund"),
        RefundSerializer,
        scope="read_orders",
        verbs={"create": gettext_noop("Refund made")},
    )
