from django.utils.translation import gettext_noop

from apps.core.events.timelines import Timeline, timelines
from apps.core.events.topics import Topic, topics
from apps.core.rest.webhook_topics import build_resource_topics
from apps.orders.api.orders import OrderSerializer
from apps.orders.api.transactions import TenderTransactionSerializer, TransactionSerializer
from apps.orders.domain import payments, risks
from apps.orders.models import Order, Transaction

READ_SCOPES = ("read_orders",)
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


topics.add(*build_resource_topics("orders", gettext_noop("Order"), OrderSerializer, scopes=READ_SCOPES, verbs=VERBS))
topics.add(
    *build_resource_topics(
        "order_transactions",
        gettext_noop("Transaction"),
        TransactionSerializer,
        scopes=READ_SCOPES,
        verbs={"create": gettext_noop("Transaction recorded")},
    )
)
topics.add(
    *build_resource_topics(
        "tender_transactions",
        gettext_noop("Tender transaction"),
        TenderTransactionSerializer,
        scopes=READ_SCOPES,
        verbs={"create": gettext_noop("Tender transaction created")},
        example=lambda: Transaction.objects.filter(
            kind__in=payments.TENDER_KINDS, status=Transaction.Status.SUCCESS
        ).first(),
    )
)
topics.add(
    Topic(
        name=risks.TOPIC,
        scopes=READ_SCOPES,
        render=lambda instance, _version: {"order_id": instance.pk, "risk_level": risks.get_risk_level(instance.pk)},
        label=gettext_noop("Risk assessment changed"),
        get_schema=lambda _version: {
            "type": "object",
            "properties": {
                "order_id": {"type": "integer"},
                "risk_level": {"type": "string", "enum": [*risks.RISK_LEVELS.values(), risks.NO_RISK_LEVEL]},
            },
        },
        example=Order,
    )
)
for name, label in (
    ("orders/comment", gettext_noop("Comment added")),
    ("orders/redact", gettext_noop("Personal data erased")),
    ("orders/export", gettext_noop("Orders exported")),
    ("orders/import", gettext_noop("Orders imported")),
):
    # These topics are only for the audit log. Apps cannot subscribe to a topic without a scope.
    topics.add(Topic(name=name, render=lambda instance, _version: {"id": instance.pk}, label=label))
timelines.add(Timeline("orders", Order, scope="orders"))
