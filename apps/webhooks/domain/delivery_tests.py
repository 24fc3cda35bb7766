"""Test a subscription: send a test delivery, or try the filter on stored events."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from django.db import transaction

from apps.core.events.models import Event
from apps.core.events.topics import topics as event_topics
from apps.core.search_query import QuerySyntaxError
from apps.core.search_query.predicate import compile_filter
from apps.core.tenancy.models import Installation
from apps.webhooks.domain import topics
from apps.webhooks.domain.app_callbacks import create_delivery
from apps.webhooks.domain.filters import select_fields
from apps.webhooks.models import Delivery, Subscription

# A search for events with a payload reads only this many of the topic's latest events.
_MAX_SEARCHED = 1000
# If not every event of a topic may be sent to the app, only this many of the latest events are considered.
_MAX_EXAMPLES = 50


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


def get_recent_events(subscription: Subscription, limit: int) -> list[Event]:
    """Return the shop's latest events that have the subscription's topic and a payload in its API version."""
    newest = Event.objects.filter(topic=subscription.topic).order_by("-id")
    rows = newest.filter(payload__has_key=subscription.api_version)
    if oldest := newest.values_list("pk", flat=True)[_MAX_SEARCHED - 1 : _MAX_SEARCHED].first():
        rows = rows.filter(pk__gte=oldest)
    return list(rows[:limit])


@transaction.atomic
def send_test_delivery(subscription: Subscription, *, shop_id: int, at: datetime) -> Delivery:
    """Send the payload of the latest event that the app may receive, or a generated payload if there is none.

    A test delivery ignores the filter and is sent even if the subscription is paused. Each test delivery has a new ID.
    """
    payload = _find_payload(subscription, shop_id)
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


@transaction.atomic
def request_test_delivery(subscription: Subscription, installation: Installation, *, at: datetime) -> Delivery:
    """Send a test delivery for an app. Raises ``TopicScopeMissing`` if the app lacks the scope of the topic."""
    topics.require_topic_scope(installation, subscription.topic)
    return send_test_delivery(subscription, shop_id=installation.shop_id, at=at)


def _find_payload(subscription: Subscription, shop_id: int) -> Mapping[str, Any] | None:
    is_allowed = event_topics[subscription.topic].is_allowed
    is_about_app = subscription.topic in topics.INSTALLATION_TOPICS
    installation = Installation.objects.filter(shop=shop_id, app=subscription.app_id, uninstalled_at=None).first()
    if installation is None:
        return None
    for event in get_recent_events(subscription, _MAX_EXAMPLES if is_allowed or is_about_app else 1):
        payload: Mapping[str, Any] = (event.payload or {})[subscription.api_version]
        if is_about_app and event.subject_id != installation.pk:
            continue
        if is_allowed is None or is_allowed(payload, subscription.app_id, installation.all_scopes):
            return payload
    return None


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
