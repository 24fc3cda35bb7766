"""Calls: requests to an app that need no subscription, such as a request to a fulfillment service.

A call is a delivery with the same signature, retry schedule and attempt log as other deliveries. Calls are only sent
while the app is installed. Failed calls never disable a service.
"""

import hashlib
from datetime import datetime

import orjson
from django.conf import settings
from django.db import transaction

from apps.core.tenancy.models import App
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import ReadOnlyAttrs
from apps.webhooks.domain.engine.dispatcher.notify import notify_after_commit
from apps.webhooks.domain.engine.matching import get_or_create_endpoint
from apps.webhooks.models import Delivery, Payload

_WAITING = (Delivery.State.DUE, Delivery.State.RETRY)


# A search for calls to an address reads only this many of the shop's latest deliveries.
MAX_SEARCHED = 10_000


@transaction.atomic
def send_call(uri: str, content: ReadOnlyAttrs, *, topic: str, app: App, at: datetime) -> Delivery:
    """Send a POST request to an app after the current transaction commits.

    Args:
        uri: The address, which is checked before each attempt.
        content: The request body, sent as JSON.
        topic: The topic of the call.
        app: The app that receives the call. The app's secret signs the call.
        at: The time of the event that the call reports.
    """
    shop_id = get_current_shop().pk
    body = orjson.dumps(content)
    payload = Payload.objects.create(shop_id=shop_id, digest=hashlib.sha256(body).hexdigest(), body=body, created_at=at)
    delivery = Delivery.objects.create(
        shop_id=shop_id,
        kind=Delivery.Kind.CALL,
        app=app,
        endpoint=get_or_create_endpoint(shop_id, uri),
        payload=payload,
        topic=topic,
        api_version=settings.API_VERSIONS[-1],
        triggered_at=at,
        next_at=at,
        created_at=at,
    )
    notify_after_commit()
    return delivery


def cancel_calls(uri: str) -> int:
    """Cancel the waiting calls to an address, and return the number of canceled calls."""
    waiting = Delivery.objects.filter(kind=Delivery.Kind.CALL, endpoint__uri=uri, state__in=_WAITING)
    return waiting.update(state=Delivery.State.CANCELLED, error="unsubscribed")


def get_recent_calls(uri: str, *, limit: int) -> list[Delivery]:
    """Return the latest calls to an address, newest first."""
    newest = Delivery.objects.order_by("-pk")
    oldest = list(newest.values_list("pk", flat=True)[MAX_SEARCHED - 1 : MAX_SEARCHED])
    calls = newest.filter(kind=Delivery.Kind.CALL, endpoint__uri_digest=hashlib.sha256(uri.encode()).hexdigest())
    return list(calls.filter(pk__gte=oldest[0])[:limit] if oldest else calls[:limit])
