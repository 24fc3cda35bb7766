"""Calls: what a domain tells one app without a subscription, such as a warehouse that a request waits for it.

A call is a delivery like any other: signed with the app's secret, retried by the same schedule, each attempt recorded.
It goes out as long as the app is installed, and nobody is disabled by its failing.
"""

import hashlib
from datetime import datetime

import orjson
from django.conf import settings
from django.db import transaction

from apps.ground.attrs import Given
from apps.ground.tenancy import current_shop
from apps.shops.models import App
from apps.webhooks.domain.engine.loop.doorbell import ring_after_commit
from apps.webhooks.domain.engine.matching import endpoint_for
from apps.webhooks.models import Delivery, Payload

_WAITING = (Delivery.State.DUE, Delivery.State.RETRY)


# Calls to one address are looked for in so many of a shop's latest deliveries.
LOOKED_THROUGH = 10_000


@transaction.atomic
def send_call(uri: str, content: Given, *, topic: str, app: App, at: datetime) -> Delivery:
    """Let a POST go out once the current transaction is committed.

    Args:
        uri: Where to; vetted again when it is sent.
        content: The body, as JSON.
        topic: What it is about.
        app: Whose secret signs it; nothing is sent while the app is not installed.
        at: When what it tells of happened.
    """
    shop_id = current_shop().pk
    body = orjson.dumps(content)
    kept = Payload.objects.create(shop_id=shop_id, digest=hashlib.sha256(body).hexdigest(), body=body, created_at=at)
    made = Delivery.objects.create(
        shop_id=shop_id,
        kind=Delivery.Kind.CALL,
        app=app,
        endpoint=endpoint_for(shop_id, uri),
        payload=kept,
        topic=topic,
        api_version=settings.API_VERSIONS[-1],
        triggered_at=at,
        next_at=at,
        created_at=at,
    )
    ring_after_commit()
    return made


def cancel_calls(uri: str) -> int:
    """Let what waits to be told to an address go unsaid; returns how many calls that were."""
    waiting = Delivery.objects.filter(kind=Delivery.Kind.CALL, endpoint__uri=uri, state__in=_WAITING)
    return waiting.update(state=Delivery.State.CANCELLED, error="unsubscribed")


def recent_calls(uri: str, *, most: int) -> list[Delivery]:
    """The latest calls to an address, newest first, of those that are kept."""
    newest = Delivery.objects.order_by("-pk")
    oldest = list(newest.values_list("pk", flat=True)[LOOKED_THROUGH - 1 : LOOKED_THROUGH])
    found = newest.filter(kind=Delivery.Kind.CALL, endpoint__uri_digest=hashlib.sha256(uri.encode()).hexdigest())
    return list(found.filter(pk__gte=oldest[0])[:most] if oldest else found[:most])
