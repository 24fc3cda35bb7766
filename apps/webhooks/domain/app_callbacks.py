"""Calls: requests to an app that need no subscription, such as a request to a fulfillment service.

A call is a delivery with the same signature, retry schedule and attempt log as other deliveries. Calls are only sent
while the app is installed. Failed calls never disable a service.
"""

import hashlib
from datetime import datetime
from typing import Any

import orjson
from django.conf import settings
from django.db import transaction

from apps.core.db.clock import get_database_time
from apps.core.tenancy.models import App
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import ReadOnlyAttrs
from apps.webhooks.domain.engine.dispatcher.notify import notify_after_commit
from apps.webhooks.domain.engine.rate_limits import get_or_create_endpoint
from apps.webhooks.models import Delivery, Payload

# A search for calls to an address reads only this many of the shop's latest deliveries.
MAX_SEARCHED = 10_000


@transaction.atomic
def send_call(uri: str, content: ReadOnlyAttrs, *, topic: str, app: App, at: datetime) -> Delivery:
    """Send a POST request with JSON to an app after the current transaction commits. The app's secret signs the call.

    ``uri`` is checked before each attempt. ``at`` is the time of the event that the call reports.
    """
    return create_delivery(
        orjson.dumps(content),
        uri,
        at,
        shop_id=get_current_shop().pk,
        kind=Delivery.Kind.CALL,
        app=app,
        topic=topic,
        api_version=settings.API_VERSIONS[-1],
    )


def create_delivery(body: bytes, uri: str, at: datetime, *, shop_id: int, **values: Any) -> Delivery:
    """Create a delivery without an event, which is sent after the current transaction commits."""
    payload = Payload.objects.create(shop_id=shop_id, digest=hashlib.sha256(body).hexdigest(), body=body, created_at=at)
    delivery = Delivery.objects.create(
        shop_id=shop_id,
        endpoint=get_or_create_endpoint(shop_id, uri),
        payload=payload,
        triggered_at=at,
        next_at=get_database_time(),
        created_at=at,
        **values,
    )
    notify_after_commit()
    return delivery


def cancel_calls(uri: str) -> int:
    states = (Delivery.State.DUE, Delivery.State.RETRY)
    waiting = Delivery.objects.filter(kind=Delivery.Kind.CALL, endpoint__uri=uri, state__in=states)
    return waiting.update(state=Delivery.State.CANCELLED, error="unsubscribed")


def get_recent_calls(uri: str, *, limit: int) -> list[Delivery]:
    newest = Delivery.objects.order_by("-pk")
    oldest = list(newest.values_list("pk", flat=True)[MAX_SEARCHED - 1 : MAX_SEARCHED])
    calls = newest.filter(kind=Delivery.Kind.CALL, endpoint__uri_digest=hashlib.sha256(uri.encode()).hexdigest())
    return list(calls.filter(pk__gte=oldest[0])[:limit] if oldest else calls[:limit])
