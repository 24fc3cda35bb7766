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
    "create": "placed",
    "updated": "changed",
    "delete": "deleted",
    "cancelled": "cancelled",
    "edited": "edited",
    "paid": "paid",
    "partially_fulfilled": "partly sent",
    "fulfilled": "sent",
}


def _nothing(instance: Model, version: str) -> Attrs:
    return {"id": instance.pk}


def _moved() -> Model | None:
    return Transaction.objects.filter(kind__in=tenders.KINDS, status=Transaction.Status.SUCCESS).first()


def register_all() -> None:
    """Add the topics."""
    register_resource("orders", "Order", OrderSerializer, scope=SCOPE, verbs=VERBS)
    register_resource(
        "order_transactions", "Transaction", TransactionSerializer, scope=SCOPE, verbs={"create": "noted"}
    )
    register_resource(
        "tender_transactions",
        "Money",
        TenderTransactionSerializer,
        scope=SCOPE,
        verbs={"create": "moved"},
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
