"""The topics that orders publish."""

from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.api.topics import register_resource
from apps.events.domain import topics
from apps.ground.attrs import Attrs
from apps.orders.api.orders import OrderSerializer
from apps.orders.api.tenders import TenderTransactionSerializer
from apps.orders.api.transactions import TransactionSerializer
from apps.orders.domain import tenders
from apps.orders.models import Transaction

SCOPE = "read_orders"
VERBS = {
    "create": gettext_noop("Order placed"),
    "updated": gettext_noop("Order changed"),
    "delete": gettext_noop("Order deleted"),
    "cancelled": gettext_noop("Order cancelled"),
    "edited": gettext_noop("Order edited"),
    "paid": gettext_noop("Order paid"),
    "partially_fulfilled": gettext_noop("Order partly sent"),
    "fulfilled": gettext_noop("Order sent"),
}


def _nothing(instance: Model, version: str) -> Attrs:
    return {"id": instance.pk}


def _moved() -> Model | None:
    return Transaction.objects.filter(kind__in=tenders.KINDS, status=Transaction.Status.SUCCESS).first()


def register_all() -> None:
    """Add the topics."""
    register_resource("orders", gettext_noop("Order"), OrderSerializer, scope=SCOPE, verbs=VERBS)
    register_resource(
        "order_transactions",
        gettext_noop("Transaction"),
        TransactionSerializer,
        scope=SCOPE,
        verbs={"create": gettext_noop("Transaction noted")},
    )
    register_resource(
        "tender_transactions",
        gettext_noop("Money"),
        TenderTransactionSerializer,
        scope=SCOPE,
        verbs={"create": gettext_noop("Money moved")},
        example=_moved,
    )
    for name, label in (
        ("orders/comment", gettext_noop("Comment added")),
        ("orders/redact", gettext_noop("Personal data erased")),
        ("orders/export", gettext_noop("Orders exported")),
        ("orders/import", gettext_noop("Orders imported")),
    ):
        # For the audit trail alone: no scope opens them to apps.
        topics.register(name, scope="", render=_nothing, label=label)
