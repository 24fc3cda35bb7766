"""Event topics for fulfillment.

An app only receives events about fulfillment orders and fulfillments at locations that the app's scopes cover (see
``domain.scope_filter``).
"""

from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.core.events.topics import Topic, topics
from apps.core.rest.openapi.schemas import build_resource_schema
from apps.core.rest.reading.query_plans import get_read_plan
from apps.core.rest.render_context import RenderContext
from apps.core.rest.webhook_topics import build_resource_topics
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Rendered, Schema
from apps.fulfillment.api.events import FulfillmentEventSerializer
from apps.fulfillment.api.fulfillment_orders import FulfillmentOrderSerializer
from apps.fulfillment.api.fulfillments import FulfillmentSerializer
from apps.fulfillment.api.services import FulfillmentServiceSerializer
from apps.fulfillment.domain.fulfillment_orders.transitions import HOLD_ADDED, HOLD_RELEASED
from apps.fulfillment.domain.scope_filter import READ, create_audience_check
from apps.fulfillment.models import FulfillmentHold, FulfillmentOrder

FULFILLMENT_ORDER_VERBS = {
    "order_routing_complete": gettext_noop("Fulfillment order created"),
    "fulfillment_request_submitted": gettext_noop("Fulfillment request sent to fulfillment service"),
    "fulfillment_request_accepted": gettext_noop("Fulfillment request accepted"),
    "fulfillment_request_rejected": gettext_noop("Fulfillment request rejected"),
    "cancellation_request_submitted": gettext_noop("Cancellation request sent to fulfillment service"),
    "cancellation_request_accepted": gettext_noop("Cancellation request accepted"),
    "cancellation_request_rejected": gettext_noop("Cancellation request rejected"),
    "fulfillment_service_failed_to_complete": gettext_noop("Fulfillment order marked as incomplete"),
    "cancelled": gettext_noop("Fulfillment order canceled"),
    "placed_on_hold": gettext_noop("Fulfillment order placed on hold"),
    "hold_released": gettext_noop("Fulfillment order released from hold"),
    "moved": gettext_noop("Fulfillment order moved to another location"),
    "split": gettext_noop("Fulfillment order split"),
    "rescheduled": gettext_noop("Fulfillment order rescheduled"),
    "scheduled_fulfillment_order_ready": gettext_noop("Fulfillment order ready to fulfill"),
    "deadline_set": gettext_noop("Fulfillment order deadline set"),
}


def _render_hold(instance: Model, version: str) -> Rendered:
    assert isinstance(instance, FulfillmentOrder)
    hold = instance.event_hold
    assert hold is not None
    fulfillment_order: Rendered = get_read_plan(FulfillmentOrderSerializer, version).read_one(
        instance.pk, RenderContext(get_current_shop(), version)
    )
    return {
        "fulfillment_order": fulfillment_order,
        "fulfillment_hold": {"id": hold.pk, "reason": hold.reason, "reason_notes": hold.reason_notes},
    }


def _hold_schema(version: str) -> Schema:
    text: Schema = {"type": "string"}
    hold: Schema = {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "reason": {"type": "string", "enum": list(FulfillmentHold.Reason.values)},
            "reason_notes": text,
        },
    }
    order = build_resource_schema(FulfillmentOrderSerializer, version)
    return {"type": "object", "properties": {"fulfillment_order": order, "fulfillment_hold": hold}}


def _get_example() -> FulfillmentOrder | None:
    hold = FulfillmentHold.objects.select_related("fulfillment_order").order_by("pk").first()
    if hold is None:
        return None
    hold.fulfillment_order.event_hold = hold
    return hold.fulfillment_order


topics.add(
    *build_resource_topics(
        "fulfillment_services",
        gettext_noop("Fulfillment service"),
        FulfillmentServiceSerializer,
        scopes=("read_fulfillments",),
    )
)
topics.add(
    *build_resource_topics(
        "fulfillment_orders",
        gettext_noop("Fulfillment order"),
        FulfillmentOrderSerializer,
        scopes=READ,
        verbs=FULFILLMENT_ORDER_VERBS,
        is_allowed=create_audience_check("assigned_location_id"),
    )
)
for name, label in (
    (HOLD_ADDED, gettext_noop("Fulfillment hold added")),
    (HOLD_RELEASED, gettext_noop("Fulfillment hold released")),
):
    topics.add(
        Topic(
            name=name,
            scopes=READ,
            render=_render_hold,
            label=label,
            get_schema=_hold_schema,
            is_allowed=create_audience_check("fulfillment_order", "assigned_location_id"),
            example=_get_example,
            is_cumulative=True,
        )
    )
topics.add(
    *build_resource_topics(
        "fulfillments",
        gettext_noop("Fulfillment"),
        FulfillmentSerializer,
        scopes=READ,
        verbs={"create": gettext_noop("Fulfillment created"), "update": gettext_noop("Fulfillment changed")},
        is_allowed=create_audience_check("location_id"),
    )
)
topics.add(
    *build_resource_topics(
        "fulfillment_events",
        gettext_noop("Fulfillment event"),
        FulfillmentEventSerializer,
        scopes=("read_orders",),
        verbs={"create": gettext_noop("Tracking event added"), "delete": gettext_noop("Tracking event removed")},
    )
)
