"""Fan-out: create deliveries from pending events, with the bytes that each subscription receives.

One transaction locks pending events, finds matching subscriptions, renders the bytes, creates deliveries and deletes
the outbox entries. Concurrent processes never process the same event. A failed transaction changes nothing. The unique
constraint on deliveries makes it safe to repeat a fan-out.
"""

import hashlib
import logging
import time
import uuid
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import orjson
from django.conf import settings
from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from apps.core.db.prepared_sql import execute_by_index, execute_prepared
from apps.core.events.models import Event
from apps.core.events.topics import topics as event_topics
from apps.core.tenancy.models import Shop
from apps.core.tenancy.read_only import writable_shops
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.webhooks.domain.engine import matching
from apps.webhooks.domain.engine.matching import CompiledSubscription
from apps.webhooks.domain.engine.rate_limits import get_or_create_endpoint
from apps.webhooks.domain.filters import add_metafields, select_fields
from apps.webhooks.models import Delivery, Health, Payload, Pending, Subscription

logger = logging.getLogger(__name__)

BATCH_SIZE = 500
MAX_BYTES = 1024 * 1024
_MAX_DEBOUNCED = 50_000


@dataclass(slots=True)
class FanOutResult:
    """The numbers of processed events and new deliveries, and the IDs of endpoints that now have waiting deliveries."""

    events: int = 0
    deliveries: int = 0
    endpoints: set[int] = field(default_factory=set)


class _NewDelivery(NamedTuple):
    """A delivery to insert, in the column order of ``_INSERT``."""

    shop_id: int
    key: uuid.UUID
    app_id: int
    subscription_id: int
    event_id: int
    endpoint_id: int
    payload: Any
    topic: str
    api_version: str
    ordering_key: str
    state: str
    triggered_at: datetime
    error: str


# Maps a subscription and a resource to the digest and the time of the last delivery.
_recent_digests: OrderedDict[tuple[int, str, int], tuple[str, float]] = OrderedDict()


def create_deliveries(limit: int = BATCH_SIZE) -> FanOutResult:
    """Create deliveries for pending events. The result is empty if there are no pending events."""
    try:
        with all_shops_scope(), transaction.atomic():
            pending = _lock_pending(limit)
            if not pending:
                return FanOutResult()
            _disable_synchronous_commit()
            run = _FanOutBatch(pending)
            run.create_all()
            Pending.objects.filter(pk__in=[row.pk for row in pending]).delete()
    except BaseException:
        # The cache may contain endpoints that the rolled-back transaction created.
        matching.clear_match_cache()
        raise
    for key in run.sent_digests:
        _remember(key, run.sent_digests[key])
    return run.result


def _disable_synchronous_commit() -> None:
    """Commit without waiting for the disk. If a server crash loses the commit, the events are still pending."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit TO off")


def _lock_pending(limit: int) -> list[Pending]:
    """Lock pending events, oldest first. On PostgreSQL each shop with pending events gets an equal share."""
    if connection.vendor != "postgresql":
        return list(Pending.objects.filter(writable_shops()).select_related("event").order_by("pk")[:limit])
    shops = [pk for (pk,) in execute_by_index(WRITABLE_SHOPS_WITH_PENDING, [])]
    if not shops:
        return []
    ids = [pk for (pk,) in execute_by_index(_LOCK_PENDING, [shops[:limit], max(1, limit // len(shops))])]
    return list(Pending.objects.select_related("event").filter(pk__in=ids).order_by("pk"))


_LOCK_PENDING = """
SELECT one.id FROM unnest(%s::bigint[]) AS s (shop_id) CROSS JOIN LATERAL (
  SELECT p.id FROM webhooks_pending p WHERE p.shop_id = s.shop_id ORDER BY p.id LIMIT %s FOR UPDATE SKIP LOCKED
) one
"""
WRITABLE_SHOPS_WITH_PENDING = """
WITH RECURSIVE shop (id) AS (
  SELECT * FROM (SELECT p.shop_id FROM webhooks_pending p ORDER BY p.shop_id LIMIT 1) first
  UNION ALL
  SELECT (SELECT p.shop_id FROM webhooks_pending p WHERE p.shop_id > shop.id ORDER BY p.shop_id LIMIT 1)
  FROM shop WHERE shop.id IS NOT NULL
)
SELECT id FROM shop WHERE id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM shops_shop h WHERE h.id = shop.id AND h.read_only_at IS NOT NULL)
"""


class _FanOutBatch:
    def __init__(self, pending: Sequence[Pending]) -> None:
        self.pending = _drop_repetitions(pending)
        self.result = FanOutResult(events=len(pending))
        self.shops = {shop.pk: shop for shop in Shop.objects.filter(pk__in={row.shop_id for row in pending})}
        self.sent_digests: dict[tuple[int, str, int], str] = {}
        self.payloads: dict[tuple[int, str], Payload] = {}
        self.deliveries: list[_NewDelivery] = []
        self.filter_errors: dict[int, int] = {}

    def create_all(self) -> None:
        for row in self.pending:
            if shop := self.shops.get(row.shop_id):
                for match in matching.find_candidates(shop, row.event):
                    self._add_delivery(row, match)
        if not self.deliveries:
            return
        Payload.objects.bulk_create(self.payloads.values())
        _insert(self.deliveries)
        self.result.deliveries = len(self.deliveries)
        self.result.endpoints = {delivery.endpoint_id for delivery in self.deliveries if delivery.state == "due"}
        for pk, count in self.filter_errors.items():
            Health.objects.get_or_create(subscription_id=pk)
            Health.objects.filter(subscription_id=pk).update(filter_errors=F("filter_errors") + count)

    def _add_delivery(self, row: Pending, match: CompiledSubscription) -> None:
        """Create a delivery if the event matches and is not a repetition within the debounce window."""
        event, subscription = row.event, match.subscription
        payload = (event.payload or {}).get(subscription.api_version)
        if payload is None:
            return
        try:
            if not self._may_receive(event, payload, match):
                return
            if match.predicate is not None and not match.predicate(payload):
                return
            body = self._body(row, subscription, payload)
        except Exception:
            logger.exception("The filter of subscription %s failed for event %s", subscription.pk, event.pk)
            self.filter_errors[subscription.pk] = self.filter_errors.get(subscription.pk, 0) + 1
            return
        digest = hashlib.sha256(body).hexdigest()
        if subscription.include_fields and self._is_repetition(subscription, event, digest):
            return
        is_too_large = len(body) > MAX_BYTES
        if match.endpoint is None:
            match.endpoint = get_or_create_endpoint(event.shop_id, subscription.uri).pk
        self.deliveries.append(
            _NewDelivery(
                shop_id=event.shop_id,
                key=get_delivery_key(event, subscription),
                app_id=subscription.app_id,
                subscription_id=subscription.pk,
                event_id=event.pk,
                endpoint_id=match.endpoint,
                payload=self._payload(event, digest, b"" if is_too_large else body),
                topic=event.topic,
                api_version=subscription.api_version,
                ordering_key=f"{event.subject_type}:{event.subject_id}" if subscription.ordered else "",
                state="dead" if is_too_large else "due",
                triggered_at=event.created_at,
                error="payload_too_large" if is_too_large else "",
            )
        )

    def _may_receive(self, event: Event, payload: Mapping[str, Any], match: CompiledSubscription) -> bool:
        is_allowed = event_topics[event.topic].is_allowed
        if is_allowed is None:
            return True
        with shop_scope(self.shops[event.shop_id]):
            return is_allowed(payload, match.subscription.app_id, match.granted)

    def _body(self, row: Pending, subscription: Subscription, payload: Mapping[str, Any]) -> bytes:
        full_payload = add_metafields(
            payload,
            (row.metafields or {}).get(subscription.api_version, ()),
            subscription.metafield_namespaces,
            subscription.metafields,
        )
        return orjson.dumps(select_fields(full_payload, subscription.include_fields))

    def _payload(self, event: Event, digest: str, body: bytes) -> Payload:
        """Return a payload with these bytes. Deliveries of the same event share a payload if their bytes are equal."""
        key = (event.pk, digest)
        if key not in self.payloads:
            self.payloads[key] = Payload(shop_id=event.shop_id, event=event, digest=digest, body=body)
        return self.payloads[key]

    def _is_repetition(self, subscription: Subscription, event: Event, digest: str) -> bool:
        """Return True if the subscription received the same bytes for the resource within the debounce window."""
        key = (subscription.pk, event.subject_type, event.subject_id)
        if self.sent_digests.get(key) == digest:
            return True
        window = settings.WEBHOOK_DEBOUNCE_SECONDS
        sent_digest, sent_at = _recent_digests.get(key, ("", 0.0))
        if sent_digest == digest and time.monotonic() - sent_at < window and key not in self.sent_digests:
            return True
        if window:
            self.sent_digests[key] = digest
        return False


_INSERT = """
INSERT INTO webhooks_delivery (created_at, updated_at, shop_id, key, kind, app_id, subscription_id, event_id,
  endpoint_id, payload_id, topic, api_version, ordering_key, state, next_at, attempts, redelivery, triggered_at,
  finished_at, error)
SELECT now(), now(), r.shop_id, r.key, 'event', r.app_id, r.subscription_id, r.event_id, r.endpoint_id, r.payload_id,
  r.topic, r.api_version, r.ordering_key, r.state, now(), 0, false, r.triggered_at,
  CASE WHEN r.state = 'dead' THEN now() END, r.error
FROM unnest(%s::bigint[], %s::uuid[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[],
  %s::text[], %s::text[], %s::text[], %s::text[], %s::timestamptz[], %s::text[])
AS r (shop_id, key, app_id, subscription_id, event_id, endpoint_id, payload_id, topic, api_version, ordering_key, state,
  triggered_at, error)
ON CONFLICT (event_id, subscription_id) DO NOTHING
RETURNING 1
"""


def _insert(deliveries: Sequence[_NewDelivery]) -> None:
    """Insert deliveries in one statement, because ``bulk_create`` takes ten times as long for this many columns."""
    if connection.vendor == "postgresql":
        rows = [delivery._replace(payload=delivery.payload.pk) for delivery in deliveries]
        execute_prepared(_INSERT, [list(column) for column in zip(*rows, strict=True)])
        return
    now = timezone.now()
    Delivery.objects.bulk_create(
        [Delivery(**row._asdict(), finished_at=now if row.state == "dead" else None) for row in deliveries],
        ignore_conflicts=True,
    )


def get_delivery_key(event: Event, subscription: Subscription) -> uuid.UUID:
    """Return ``X-…-Webhook-Id`` for an event and a subscription. All attempts and replays have the same value."""
    return uuid.uuid5(event.key, str(subscription.pk))


def _drop_repetitions(pending: Sequence[Pending]) -> list[Pending]:
    """Keep only the last event for each action, topic and resource, because it has the final state."""
    last = {_repetition_key(row): row.pk for row in pending}
    last_ids = {*last.values()}
    return [row for row in pending if row.pk in last_ids]


def _repetition_key(row: Pending) -> tuple[object, ...]:
    event = row.event
    key = (event.group, event.topic, event.subject_type, event.subject_id)
    return (*key, row.pk) if event_topics[event.topic].is_cumulative else key


def _remember(key: tuple[int, str, int], digest: str) -> None:
    _recent_digests[key] = (digest, time.monotonic())
    _recent_digests.move_to_end(key)
    while len(_recent_digests) > _MAX_DEBOUNCED:
        _recent_digests.popitem(last=False)
