"""Trying a subscription: a test that goes out now, and what a stored event would have come to."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from django.db import transaction

from apps.events.models import Event
from apps.query import QuerySyntaxError
from apps.query.predicate import filter_of
from apps.webhooks.domain import topics
from apps.webhooks.domain.engine.loop.doorbell import ring_after_commit
from apps.webhooks.domain.engine.matching import endpoint_for
from apps.webhooks.domain.projection import project
from apps.webhooks.models import Delivery, Payload, Subscription


@dataclass(frozen=True, slots=True)
class DryRun:
    """What an event would have come to.

    Attributes:
        fits: Whether the filter lets it pass; None where its payload was not kept.
        payload: What would be sent; None where nothing would.
        error: What is wrong with the filter; blank where nothing is.
    """

    fits: bool | None
    payload: Any = None
    error: str = ""


def dry_run(event: Event, *, api_version: str, text: str = "", include_fields: tuple[str, ...] = ()) -> DryRun:
    """What a filter and a choice of fields make of a stored event."""
    payload = (event.payload or {}).get(api_version)
    if payload is None:
        return DryRun(None)
    try:
        fits = filter_of(text)(payload) if text.strip() else True
    except QuerySyntaxError as error:
        return DryRun(None, error=str(error))
    return DryRun(fits, project(payload, include_fields) if fits else None)


def events_to_try(subscription: Subscription, limit: int = 50) -> list[Event]:
    """The latest events of the subscription's topic in the current shop whose payload is at hand in its version."""
    rows = Event.objects.filter(topic=subscription.topic, payload__has_key=subscription.api_version)
    return list(rows.order_by("-id")[:limit])


@transaction.atomic
def send_test(subscription: Subscription, *, shop_id: int, at: datetime) -> Delivery:
    """Send a subscription an example of its topic: the last event's payload, else one made of the topic's shape.

    It goes out whatever the filter says and though the subscription be paused, under an id of its own.
    """
    latest = next(iter(events_to_try(subscription, 1)), None)
    payload = (latest.payload or {}).get(subscription.api_version) if latest else None
    if payload is None:
        payload = made_up(topics.shape_of(subscription.topic, subscription.api_version) or {})
    body = orjson.dumps(project(payload, subscription.include_fields))
    kept = Payload.objects.create(shop_id=shop_id, digest=hashlib.sha256(body).hexdigest(), body=body, created_at=at)
    made = Delivery.objects.create(
        shop_id=shop_id,
        kind=Delivery.Kind.TEST,
        app_id=subscription.app_id,
        subscription=subscription,
        endpoint=endpoint_for(shop_id, subscription.uri),
        payload=kept,
        topic=subscription.topic,
        api_version=subscription.api_version,
        triggered_at=at,
        next_at=at,
        created_at=at,
    )
    ring_after_commit()
    return made


def made_up(shape: Any) -> Any:
    """A value that fits a schema."""
    kinds = shape.get("type")
    kind = next((each for each in kinds if each != "null"), "null") if isinstance(kinds, list) else kinds
    if isinstance(either := shape.get("oneOf"), list):
        return made_up(either[0])
    if shape.get("enum"):
        return shape["enum"][0]
    if kind == "object" or "properties" in shape:
        return {name: made_up(inner) for name, inner in shape.get("properties", {}).items()}
    if kind == "array":
        return [made_up(shape.get("items", {}))] if shape.get("items") else []
    if kind == "string":
        formats = {"date-time": "2026-01-31T12:00:00+00:00", "date": "2026-01-31", "decimal": "10.00"}
        return formats.get(shape.get("format", ""), "example")
    return {"integer": 1, "number": 1.0, "boolean": True}.get(kind or "")
