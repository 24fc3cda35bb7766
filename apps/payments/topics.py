from django.utils.translation import gettext_noop

from apps.core.events.topics import topics
from apps.core.rest.webhook_topics import DEFAULT_LABELS, build_resource_topics
from apps.payments.api.payment_handlers import PaymentHandlerSerializer

topics.add(
    *build_resource_topics(
        "payment_handlers",
        gettext_noop("Payment handler"),
        PaymentHandlerSerializer,
        scopes=("read_payment_handlers",),
        verbs={**DEFAULT_LABELS, "redeem": gettext_noop("Payment handler accepted a token")},
    )
)
