"""Test a subscription: send a test delivery, or try the filter on stored events."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from django.db import transaction

from apps.core.events.models import Event
from apps.core.search_query import QuerySyntaxError
from apps.core.search_query.predicate import compile_filter
from apps.webhooks.domain import topics
from apps.webhooks.domain.app_callbacks import create_delivery
from apps.webhooks.domain.filters import select_fields
from apps.webhooks.models import Delivery, Subscription


@dataclass(frozen=True, slots=True)
class DryRunResult:
    """The result of trying a filter on an event, with the payload that would be sent.

    ``is_match`` is None if the filter is invalid (``error`` is the syntax error) or the payload was not stored.
    """

    is_match: bool | None
    payload: Any = None
    error: str = ""


def dry_run_filter(
    event: Event, *, api_version: str, text: str = "", include_fields: tuple[str, ...] = ()
) -> DryRunResult:
    """Apply a filter and a field selection to a stored event, without sending anything."""
    payload = (event.payload or {}).get(api_version)
    if payload is None:
        return DryRunResult(None)
    try:
        is_match = compile_filter(text)(payload) if text.strip() else True
    except QuerySyntaxError as error:
        return DryRunResult(None, error=str(error))
    return DryRunResult(is_match, select_fields(payload, include_fields) if is_match else None)


def get_recent_events(subscription: Subscription, limit: int = 50) -> list[Event]:
    """Return the shop's latest events that have the subscription's topic and a payload in its API version."""
    rows = Event.objects.filter(topic=subscription.topic, payload__has_key=subscription.api_version)
    return list(rows.order_by("-id")[:limit])


@transaction.atomic
def send_test_delivery(subscription: Subscription, *, shop_id: int, at: datetime) -> Delivery:
    """Send the payload of the topic's latest event, or a generated payload if there is no event.

    A test delivery ignores the filter and is sent even if the subscription is paused. Each test delivery has a new ID.
    """
    latest = next(iter(get_recent_events(subscription, 1)), None)
    payload = (latest.payload or {}).get(subscription.api_version) if latest else None
    if payload is None:
        payload = generate_sample(topics.get_payload_schema(subscription.topic, subscription.api_version) or {})
    body = orjson.dumps(select_fields(payload, subscription.include_fields))
    return create_delivery(
        body,
        subscription.uri,
        at,
        shop_id=shop_id,
        kind=Delivery.Kind.TEST,
        app_id=subscription.app_id,
        subscription=subscription,
        topic=subscription.topic,
        api_version=subscription.api_version,
    )


def generate_sample(shape: Any) -> Any:
    kinds = shape.get("type")
    kind = next((type_name for type_name in kinds if type_name != "null"), "null") if isinstance(kinds, list) else kinds
    if isinstance(either := shape.get("oneOf"), list):
        return generate_sample(either[0])
    if shape.get("enum"):
        return shape["enum"][0]
    if kind == "object" or "properties" in shape:
        return {name: generate_sample(inner) for name, inner in shape.get("properties", {}).items()}
    if kind == "array":
        return [generate_sample(shape.get("items", {}))] if shape.get("items") else []
    if kind == "string":
        formats = {"date-time": "2026-01-31T12:00:00+00:00", "date": "2026-01-31", "decimal": "10.00"}
        return formats.get(shape.get("format", ""), "example")
    return {"integer": 1, "number": 1.0, "boolean": True}.get(kind or "")
