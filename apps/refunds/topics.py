from django.utils.translation import gettext_noop

from apps.core.events.topics import topics
from apps.core.rest.webhook_topics import build_resource_topics
from apps.refunds.api.refunds import RefundSerializer

topics.add(
    *build_resource_topics(
        "refunds",
        gettext_noop("Refund"),
        RefundSerializer,
        scopes=("read_orders",),
        verbs={"create": gettext_noop("Refund created")},
    )
)
