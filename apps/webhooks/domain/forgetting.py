"""Erasing what was told of a person: the bytes of payloads, and what receivers answered.

A delivery that still waits would tell of the person after the erasure; it is cancelled.
"""

from collections.abc import Collection

from django.db.models import Model, QuerySet

from apps.events.models import Event
from apps.webhooks.models import Attempt, Delivery, Payload, Pending

_UNFINISHED = (Delivery.State.DUE, Delivery.State.RETRY, Delivery.State.LEASED, Delivery.State.HELD)


def forget_deliveries(_model: type[Model], _ids: Collection[int], events: "QuerySet[Event]") -> None:
    """Empty what was, or was about to be, told of these events."""
    told = list(events.filter(payload__isnull=False).values_list("pk", flat=True))
    Pending.objects.filter(event_id__in=told).delete()
    deliveries = Delivery.objects.filter(event_id__in=told)
    waiting = deliveries.filter(state__in=_UNFINISHED)
    waiting.update(state=Delivery.State.CANCELLED, lease=None, lease_until=None, error="erased")
    Payload.objects.filter(event_id__in=told).update(body=b"")
    Attempt.objects.filter(delivery__in=deliveries).update(excerpt="", response_headers={})
