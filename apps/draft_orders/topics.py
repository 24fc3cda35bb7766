from django.utils.translation import gettext_noop

from apps.core.events.timelines import Timeline, timelines
from apps.core.events.topics import topics
from apps.core.rest.webhook_topics import build_resource_topics
from apps.draft_orders.api.serializers import DraftOrderSerializer
from apps.draft_orders.models import DraftOrder

topics.add(
    *build_resource_topics(
        "draft_orders", gettext_noop("Draft order"), DraftOrderSerializer, scopes=("read_draft_orders",)
    )
)
timelines.add(Timeline("draft_orders", DraftOrder, scope="draft_orders"))
