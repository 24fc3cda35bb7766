"""Webhook topics for refunds."""

from django.utils.translation import gettext_noop

from apps.api.webhook_topics import register_resource_topics
from apps.refunds.api.refunds import RefundSerializer


def register_refund_topics() -> None:
    register_resource_topics(
        "refunds",
        gettext_noop("Refund"),
        RefundSerializer,
        scope="read_orders",
        verbs={"create": gettext_noop("Refund created")},
    )
