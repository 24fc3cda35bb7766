"""Erase personal data in fulfillment orders, fulfillments and calls to fulfillment services."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from apps.core.events.models import Event
from apps.core.events.redaction import allow_redaction, redact_events
from apps.core.privacy import build_mention_filter, get_blank_values
from apps.customers.domain.personal_data import get_identifying_words
from apps.customers.models import Customer
from apps.fulfillment.domain.fulfillment_orders.transitions import CLOSED_TOPIC
from apps.fulfillment.models import (
    Fulfillment,
    FulfillmentEvent,
    FulfillmentHold,
    FulfillmentOrder,
    MerchantRequest,
    PullAttempt,
)


def erase_fulfillment_data(ids: Sequence[int], *, at: datetime) -> None:
    """Erase the personal data in the fulfillments of orders: tracking, messages, notes and addresses."""
    holds = FulfillmentHold.objects.filter(fulfillment_order__order__in=ids)
    requests = MerchantRequest.objects.filter(fulfillment_order__order__in=ids)
    fulfillments = Fulfillment.objects.filter(order__in=ids)
    events = FulfillmentEvent.objects.filter(fulfillment__order__in=ids)
    rows: tuple[QuerySet[Any], ...] = (
        FulfillmentOrder.objects.filter(order__in=ids),
        holds,
        requests,
        fulfillments,
        events,
    )
    for queryset in rows:
        redact_events(queryset.model, list(queryset.order_by("pk").values_list("pk", flat=True)))
    # Messages entered when a fulfillment order was closed are only stored in these events.
    closing_events = Event.objects.filter(topic=CLOSED_TOPIC, subject_id__in=list(rows[0].values_list("pk", flat=True)))
    with allow_redaction():
        closing_events.filter(subject_type=FulfillmentOrder._meta.label_lower).exclude(changes={}).update(changes={})
    holds.update(**get_blank_values(FulfillmentHold))
    requests.update(**get_blank_values(MerchantRequest))
    fulfillments.update(**get_blank_values(Fulfillment))
    events.update(**get_blank_values(FulfillmentEvent), latitude=None, longitude=None)


def redact_attempts(customer: Customer, _actor: str, _at: datetime) -> None:
    condition = build_mention_filter(PullAttempt.personal_fields, get_identifying_words(customer))
    PullAttempt.objects.filter(condition).update(**get_blank_values(PullAttempt))
