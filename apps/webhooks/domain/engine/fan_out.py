"""From events to deliveries: who wants an event, and the bytes that each gets.

One transaction takes pending events (each only once, whoever else is at it), finds the subscriptions that they fit,
freezes bytes, writes deliveries and removes the marks. Where it fails nothing happened, and where it were repeated the
unique constraint of deliveries would keep each to one.
"""

import hashlib
import logging
import time
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import orjson
from django.conf import settings
from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from apps.events.models import Event
from apps.ground.sql import execute
from apps.ground.tenancy import every_shop, shop_scope
from apps.shops.domain.read_only import writable
from apps.shops.models import Shop
from apps.webhooks.domain import topics
from apps.webhooks.domain.engine import matching
from apps.webhooks.domain.engine.matching import Match, endpoint_for
from apps.webhooks.domain.projection import project, with_metafields
from apps.webhooks.models import Delivery, Health, Payload, Pending, Subscription

logger = logging.getLogger(__name__)

AT_ONCE = 500
MAX_BYTES = 1024 * 1024
_KEPT_DEBOUNCED = 50_000


@dataclass(slots=True)
class Told:
    """What one run did.

    Attributes:
        events: How many events were looked at.
        endpoints: Where something waits now.
    """

    events: int = 0
    deliveries: int = 0
    endpoints: set[int] = field(default_factory=set)


class _New(NamedTuple):
    """A delivery to be written; in the order of ``_INSERT``."""

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


# By subscription and resource: the digest of what it was told last, and when.
_told_lately: OrderedDict[tuple[int, str, int], tuple[str, float]] = OrderedDict()


def fan_out(limit: int = AT_ONCE) -> Told:
    """Turn pending events into deliveries; returns what it did, nothing where nothing was pending."""
    try:
        with every_shop(), transaction.atomic():
            _do_not_wait_for_the_disk()
            pending = _take(limit)
            if not pending:
                return Told()
            run = _Run(pending)
            run.tell()
            Pending.objects.filter(pk__in=[row.pk for row in pending]).delete()
    except BaseException:
        # It may name endpoints that were undone with the transaction.
        matching.forget()
        raise
    for key in run.lately:
        _remember(key, run.lately[key])
    return run.told


def _do_not_wait_for_the_disk() -> None:
    """What a crash of the server takes of a fan-out is done again: the events are pending as before."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit TO off")


def _take(limit: int) -> list[Pending]:
    """Pending events, oldest first within a shop, with a share for every shop that has some."""
    if connection.vendor != "postgresql":
        return list(Pending.objects.filter(writable()).select_related("event").order_by("pk")[:limit])
    shops = _shops_that_wait()
    if not shops:
        return []
    share = max(1, limit // len(shops))
    taken: list[int] = []
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, [shops[:limit], share])
        taken = [pk for (pk,) in cursor.fetchall()]
    return list(Pending.objects.select_related("event").filter(pk__in=taken).order_by("pk"))


_TAKE = """
SELECT one.id FROM unnest(%s::bigint[]) AS s (shop_id) CROSS JOIN LATERAL (
  SELECT p.id FROM webhooks_pending p WHERE p.shop_id = s.shop_id ORDER BY p.id LIMIT %s FOR UPDATE SKIP LOCKED
) one
"""
_SHOPS = """
WITH RECURSIVE shop (id) AS (
  SELECT min(shop_id) FROM webhooks_pending
  UNION ALL
  SELECT (SELECT min(p.shop_id) FROM webhooks_pending p WHERE p.shop_id > shop.id) FROM shop WHERE shop.id IS NOT NULL
)
SELECT id FROM shop WHERE id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM shops_shop h WHERE h.id = shop.id AND h.read_only_at IS NOT NULL)
"""


def _shops_that_wait() -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(_SHOPS)
        return [pk for (pk,) in cursor.fetchall()]


class _Run:
    """One transaction's worth of events."""

    def __init__(self, pending: Sequence[Pending]) -> None:
        self.pending = _last_of_each(pending)
        self.told = Told(events=len(pending))
        self.shops = {shop.pk: shop for shop in Shop.objects.filter(pk__in={row.shop_id for row in pending})}
        self.lately: dict[tuple[int, str, int], str] = {}
        self.payloads: dict[tuple[int, str], Payload] = {}
        self.deliveries: list[_New] = []
        self.filter_errors: dict[int, int] = {}

    def tell(self) -> None:
        """Write the deliveries of all events."""
        for row in self.pending:
            for match in self._listeners(row.event):
                self._deliver(row, match)
        if not self.deliveries:
            return
        Payload.objects.bulk_create(self.payloads.values())
        _insert(self.deliveries)
        self.told.deliveries = len(self.deliveries)
        self.told.endpoints = {each.endpoint_id for each in self.deliveries if each.state == "due"}
        for pk, count in self.filter_errors.items():
            Health.objects.get_or_create(subscription_id=pk)
            Health.objects.filter(subscription_id=pk).update(filter_errors=F("filter_errors") + count)

    def _listeners(self, event: Event) -> Iterable[Match]:
        shop = self.shops.get(event.shop_id)
        if shop is None:
            return ()
        return matching.listeners(shop, event)

    def _deliver(self, row: Pending, match: Match) -> None:
        """Write one delivery, if the event fits the filter and is not what was told a moment ago."""
        event, subscription = row.event, match.subscription
        payload = (event.payload or {}).get(subscription.api_version)
        if payload is None:
            return
        try:
            if not self._may_hear(event, payload, match):
                return
            if match.fits is not None and not match.fits(payload):
                return
            body = self._body(row, subscription, payload)
        except Exception:
            logger.exception("The filter of subscription %s failed on event %s", subscription.pk, event.pk)
            self.filter_errors[subscription.pk] = self.filter_errors.get(subscription.pk, 0) + 1
            return
        digest = hashlib.sha256(body).hexdigest()
        if subscription.include_fields and self._was_told(subscription, event, digest):
            return
        is_too_large = len(body) > MAX_BYTES
        self.deliveries.append(
            _New(
                shop_id=event.shop_id,
                key=delivery_key(event, subscription),
                app_id=subscription.app_id,
                subscription_id=subscription.pk,
                event_id=event.pk,
                endpoint_id=self._endpoint(event.shop_id, match),
                payload=self._payload(event, digest, b"" if is_too_large else body),
                topic=event.topic,
                api_version=subscription.api_version,
                ordering_key=f"{event.subject_type}:{event.subject_id}" if subscription.ordered else "",
                state="dead" if is_too_large else "due",
                triggered_at=event.created_at,
                error="payload_too_large" if is_too_large else "",
            )
        )

    def _may_hear(self, event: Event, payload: Mapping[str, Any], match: Match) -> bool:
        hears = topics.hears_of(event.topic)
        if hears is None:
            return True
        with shop_scope(self.shops[event.shop_id]):
            return hears(payload, match.subscription.app_id, match.granted)

    def _body(self, row: Pending, subscription: Subscription, payload: Mapping[str, Any]) -> bytes:
        whole = with_metafields(
            payload,
            (row.metafields or {}).get(subscription.api_version, ()),
            subscription.metafield_namespaces,
            subscription.metafields,
        )
        return orjson.dumps(project(whole, subscription.include_fields))

    def _payload(self, event: Event, digest: str, body: bytes) -> Payload:
        """The bytes, once for each event."""
        key = (event.pk, digest)
        if key not in self.payloads:
            self.payloads[key] = Payload(shop_id=event.shop_id, event=event, digest=digest, body=body)
        return self.payloads[key]

    def _endpoint(self, shop: int, match: Match) -> int:
        if match.endpoint is None:
            match.endpoint = endpoint_for(shop, match.subscription.uri).pk
        return match.endpoint

    def _was_told(self, subscription: Subscription, event: Event, digest: str) -> bool:
        """Whether the same part of the same resource went out within the window; an extract repeats itself often."""
        key = (subscription.pk, event.subject_type, event.subject_id)
        if self.lately.get(key) == digest:
            return True
        last = _told_lately.get(key)
        window = settings.WEBHOOK_DEBOUNCE_SECONDS
        if last is not None and last[0] == digest and time.monotonic() - last[1] < window and key not in self.lately:
            return True
        if window:
            self.lately[key] = digest
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


def _insert(deliveries: Sequence[_New]) -> None:
    """Write new deliveries; the ORM would take ten times as long to write so many of so many columns."""
    if connection.vendor == "postgresql":
        rows = [each._replace(payload=each.payload.pk) for each in deliveries]
        execute(_INSERT, [list(column) for column in zip(*rows, strict=True)])
        return
    now = timezone.now()
    Delivery.objects.bulk_create(
        [
            Delivery(
                **each._asdict(),
                finished_at=now if each.state == "dead" else None,
            )
            for each in deliveries
        ],
        ignore_conflicts=True,
    )


def delivery_key(event: Event, subscription: Subscription) -> uuid.UUID:
    """``X-…-Webhook-Id``: the same for each attempt and replay of an event to a subscription."""
    return uuid.uuid5(event.key, str(subscription.pk))


def _last_of_each(pending: Sequence[Pending]) -> list[Pending]:
    """Without what one action told twice of a resource under a topic: the last says it all."""
    last = {_what_it_says(row): row.pk for row in pending}
    kept = {*last.values()}
    return [row for row in pending if row.pk in kept]


def _what_it_says(row: Pending) -> tuple[object, ...]:
    event = row.event
    said = (event.group, event.topic, event.subject_type, event.subject_id)
    return (*said, row.pk) if topics.counts_each(event.topic) else said


def _remember(key: tuple[int, str, int], digest: str) -> None:
    _told_lately[key] = (digest, time.monotonic())
    _told_lately.move_to_end(key)
    while len(_told_lately) > _KEPT_DEBOUNCED:
        _told_lately.popitem(last=False)


def oldest_pending_seconds() -> float:
    """How long the oldest pending event has been waiting; 0 where none is."""
    with every_shop():
        oldest = Pending.objects.order_by("pk").values_list("created_at", flat=True).first()
    return 0.0 if oldest is None else max(0.0, (timezone.now() - oldest).total_seconds())
