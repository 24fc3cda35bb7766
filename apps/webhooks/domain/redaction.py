"""Erase personal data from webhooks: the payloads and the responses of endpoints.

Unfinished deliveries are canceled, so that no personal data is sent after the erasure.
"""

from collections.abc import Collection

from django.db.models import Model, QuerySet

from apps.events.models import Event
from apps.webhooks.models import Attempt, Delivery, Payload, Pending

_UNFINISHED = (Delivery.State.DUE, Delivery.State.RETRY, Delivery.State.LEASED, Delivery.State.HELD)


def redact_deliveries(_model: type[Model], _ids: Collection[int], events: "QuerySet[Event]") -> None:
    """Erase the payloads and responses of all deliveries for these events."""
    event_ids = list(events.filter(payload__isnull=False).values_list("pk", flat=True))
    Pending.objects.filter(event_id__in=event_ids).delete()
    deliveries = Delivery.objects.filter(event_id__in=event_ids)
    unfinished = deliveries.filter(state__in=_UNFINISHED)
    unfinished.update(state=Delivery.State.CANCELLED, lease=None, lease_until=None, error="erased")
    Payload.objects.filter(event_id__in=event_ids).update(body=b"")
    Attempt.objects.filter(delivery__in=deliveries).update(excerpt="", response_headers={})
