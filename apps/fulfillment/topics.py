"""The topics that fulfillment publishes.

What an app hears of fulfillment orders and fulfillments is what it sees of them: those at locations that its scopes
cover (``domain.visibility``).
"""

from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.api.context import Context
from apps.api.openapi.schemas import resource_schema
from apps.api.rows.plans import plan_for
from apps.api.shapes import Schema, Shown
from apps.api.topics import register_resource
from apps.events.domain import topics
from apps.fulfillment.api.events import FulfillmentEventSerializer
from apps.fulfillment.api.fulfillments import FulfillmentSerializer
from apps.fulfillment.api.orders import FulfillmentOrderSerializer
from apps.fulfillment.api.services import FulfillmentServiceSerializer
from apps.fulfillment.domain.transitions import HOLD_ADDED, HOLD_RELEASED
from apps.fulfillment.domain.visibility import READ, hears
from apps.fulfillment.models import FulfillmentHold, FulfillmentOrder
from apps.ground.tenancy import current_shop

MOVES = {
    "order_routing_complete": gettext_noop("Fulfillment order made by routing"),
    "fulfillment_request_submitted": gettext_noop("Fulfillment order requested of its service"),
    "fulfillment_request_accepted": gettext_noop("Fulfillment order accepted by its service"),
    "fulfillment_request_rejected": gettext_noop("Fulfillment order rejected by its service"),
    "cancellation_request_submitted": gettext_noop("Fulfillment order asked back from its service"),
    "cancellation_request_accepted": gettext_noop("Fulfillment order given back by its service"),
    "cancellation_request_rejected": gettext_noop("Fulfillment order kept by its service"),
    "fulfillment_service_failed_to_complete": gettext_noop("Fulfillment order closed before it was finished"),
    "cancelled": gettext_noop("Fulfillment order cancelled"),
    "placed_on_hold": gettext_noop("Fulfillment order placed on hold"),
    "hold_released": gettext_noop("Fulfillment order released from hold"),
    "moved": gettext_noop("Fulfillment order moved to another location"),
    "split": gettext_noop("Fulfillment order split"),
    "rescheduled": gettext_noop("Fulfillment order rescheduled"),
    "scheduled_fulfillment_order_ready": gettext_noop("Fulfillment order ready to be sent"),
    "deadline_set": gettext_noop("Fulfillment order given a deadline"),
}


def register_all() -> None:
    """Add the topics."""
    register_resource(
        "fulfillment_services",
        gettext_noop("Fulfillment service"),
        FulfillmentServiceSerializer,
        scope="read_fulfillments",
    )
    register_resource(
        "fulfillment_orders",
        gettext_noop("Fulfillment order"),
        FulfillmentOrderSerializer,
        scope=READ,
        verbs=MOVES,
        hears=hears("assigned_location_id"),
    )
    for name, label in ((HOLD_ADDED, gettext_noop("Hold added")), (HOLD_RELEASED, gettext_noop("Hold released"))):
        topics.register(
            name,
            scope=READ,
            render=_held,
            label=label,
            shape=_held_shape,
            hears=hears("fulfillment_order", "assigned_location_id"),
            example=_one_held,
            each=True,
        )
    register_resource(
        "fulfillments",
        gettext_noop("Fulfillment"),
        FulfillmentSerializer,
        scope=READ,
        verbs={"create": gettext_noop("Fulfillment created"), "update": gettext_noop("Fulfillment changed")},
        hears=hears("location_id"),
    )
    register_resource(
        "fulfillment_events",
        gettext_noop("Fulfillment event"),
        FulfillmentEventSerializer,
        scope="read_orders",
        verbs={"create": gettext_noop("Fulfillment event added"), "delete": gettext_noop("Fulfillment event removed")},
    )


def _held(instance: Model, version: str) -> Shown:
    assert isinstance(instance, FulfillmentOrder)
    held = instance.told_hold
    assert held is not None
    shown: Shown = plan_for(FulfillmentOrderSerializer, version).read_one(instance.pk, Context(current_shop(), version))
    return {
        "fulfillment_order": shown,
        "fulfillment_hold": {"id": held.pk, "reason": held.reason, "reason_notes": held.reason_notes},
    }


def _held_shape(version: str) -> Schema:
    text: Schema = {"type": "string"}
    hold: Schema = {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "reason": {"type": "string", "enum": list(FulfillmentHold.Reason.values)},
            "reason_notes": text,
        },
    }
    order = resource_schema(FulfillmentOrderSerializer, version)
    return {"type": "object", "properties": {"fulfillment_order": order, "fulfillment_hold": hold}}


def _one_held() -> FulfillmentOrder | None:
    held = FulfillmentHold.objects.select_related("fulfillment_order").order_by("pk").first()
    if held is None:
        return None
    held.fulfillment_order.told_hold = held
    return held.fulfillment_order
