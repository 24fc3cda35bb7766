"""Webhook topics for orders."""

from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.api.webhook_topics import register_resource_topics
from apps.events.domain import topics
from apps.ground.types import Attrs
from apps.orders.api.orders import OrderSerializer
from apps.orders.api.tender_transactions import TenderTransactionSerializer
from apps.orders.api.transactions import TransactionSerializer
from apps.orders.domain import tender_transactions
from apps.orders.models import Transaction

READ_SCOPE = "read_orders"
VERBS = {
    "create": gettext_noop("Order placed"),
    "updated": gettext_noop("Order changed"),
    "delete": gettext_noop("Order deleted"),
    "cancelled": gettext_noop("Order canceled"),
    "edited": gettext_noop("Order edited"),
    "paid": gettext_noop("Order paid"),
    "partially_fulfilled": gettext_noop("Order partially fulfilled"),
    "fulfilled": gettext_noop("Order fulfilled"),
}


def _nothing(instance: Model, version: str) -> Attrs:
    return {"id": instance.pk}


def _moved() -> Model | None:
    return Transaction.objects.filter(
        kind__in=tender_transactions.TENDER_KINDS, status=Transaction.Status.SUCCESS
    ).first()


def register_order_topics() -> None:
    register_resource_topics("orders", gettext_noop("Order"), OrderSerializer, scope=READ_SCOPE, verbs=VERBS)
    register_resource_topics(
        "order_transactions",
        gettext_noop("Transaction"),
        TransactionSerializer,
        scope=READ_SCOPE,
        verbs={"create": gettext_noop("Transaction recorded")},
    )
    register_resource_topics(
        "tender_transactions",
        gettext_noop("Tender transaction"),
        TenderTransactionSerializer,
        scope=READ_SCOPE,
        verbs={"create": gettext_noop("Tender transaction created")},
        example=_moved,
    )
    for name, label in (
        ("orders/comment", gettext_noop("Comment added")),
        ("orders/redact", gettext_noop("Personal data erased")),
        ("orders/export", gettext_noop("Orders exported")),
        ("orders/import", gettext_noop("Orders imported")),
    ):
        # These topics are only for the audit log, so they have no scope. Apps cannot subscribe to a topic without a
        # scope.
        topics.register_topic(name, scope="", render=_nothing, label=label)
