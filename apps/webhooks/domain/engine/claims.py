"""Claim deliveries: a process leases waiting deliveries before sending them.

A claim sets a lease with a new token, based on the database clock. Only deliveries that can start immediately are
claimed.

On PostgreSQL, a claim is one statement with a plan that follows the index of waiting deliveries, and reads at most
``_MAX_READ`` of an endpoint's deliveries. With ordered delivery, thousands of due deliveries may wait for earlier
deliveries of their resources. If such deliveries keep slots of an endpoint free, they are postponed, and the result of
a delivery makes the next ones due again (``results``). Until then, ``lease_until`` contains their due time. A delivery
that only waits for one in progress stays due. If a result is written while a delivery is being postponed, the delivery
is sent late, after ``_POSTPONED_SECONDS``.

On SQLite, which allows one writer at a time, a claim is a short transaction. A claim commits without waiting for the
disk. Therefore a server crash can lose leases, and the affected deliveries are sent twice.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import uuid6
from django.db import connection, transaction
from django.utils import timezone

from apps.core.db.prepared_sql import Rows, execute_by_index
from apps.core.tenancy.scope import all_shops_scope
from apps.webhooks.domain.engine.dispatcher.endpoint_slots import AttemptKind
from apps.webhooks.domain.topics import TOPICS_AFTER_UNINSTALL

LEASE_SECONDS = 30
_MAX_READ = 500
# A postponed delivery is checked again after this time.
_POSTPONED_SECONDS = 600
# A claim postpones deliveries at most this many times, so that other endpoints do not wait for it.
_MAX_POSTPONEMENTS = 10

SEND, HOLD, CANCEL = "send", "hold", "cancel"


@dataclass(slots=True)
class Claim:
    """A delivery that this process has leased.

    Attributes:
        lease_token: The token that is required to write the result.
        number: The number of the attempt, starting at 1.
        wait_seconds: The seconds since the delivery became due.
        group: The value of ``X-…-Event-Id``.
        sequence: The value of ``X-…-Sequence``: the id of the event. None if the delivery has no event.
        ordered: True if later deliveries of the same resource wait for this delivery.
        action: ``send``, or ``hold`` or ``cancel`` if the subscription is not live.
    """

    pk: int
    lease_token: UUID
    kind: AttemptKind
    key: UUID
    shop: int
    app: int
    endpoint: int
    subscription: int | None
    uri: str
    topic: str
    api_version: str
    number: int
    redelivery: bool
    triggered_at: datetime
    wait_seconds: float
    body: bytes
    domain: str
    group: UUID | None
    sequence: int | None
    name: str | None
    ordered: bool
    action: str


# The indexes of the endpoint ID, the payload ID and the payload body in ``_COLUMNS``.
_ENDPOINT, _PAYLOAD, _BODY = 4, 12, 14
_FINAL_TOPICS = ", ".join(f"'{topic}'" for topic in sorted(TOPICS_AFTER_UNINSTALL))
_COLUMNS = f"""
d.id, d.key, d.shop_id, d.app_id, d.endpoint_id, d.subscription_id, e.uri, d.topic, d.api_version, d.attempts,
d.redelivery, d.triggered_at, d.payload_id, length(p.body),
CASE WHEN row_number() OVER (PARTITION BY d.payload_id ORDER BY d.id) = 1 THEN p.body END, h.domain, v."group",
v.id, s.name, d.ordering_key <> '',
CASE
  WHEN d.subscription_id IS NULL AND EXISTS (
    SELECT 1 FROM shops_installation i
    WHERE i.shop_id = d.shop_id AND i.app_id = d.app_id AND i.uninstalled_at IS NULL
  ) THEN 'send'
  WHEN d.subscription_id IS NULL THEN 'cancel'
  WHEN s.deleted_at IS NOT NULL AND NOT (s.removed_by_uninstalling AND d.topic IN ({_FINAL_TOPICS})) THEN 'cancel'
  WHEN length(p.body) = 0 THEN 'cancel'
  WHEN d.kind = 'test' THEN 'send'
  WHEN d.topic NOT IN ({_FINAL_TOPICS}) AND NOT EXISTS (
    SELECT 1 FROM shops_installation i
    WHERE i.shop_id = d.shop_id AND i.app_id = d.app_id AND i.uninstalled_at IS NULL
  ) THEN 'cancel'
  WHEN s.state <> 'live' THEN 'hold'
  ELSE 'send'
END
"""  # noqa: S608 - texts of our own

_JOINS = """
JOIN webhooks_endpoint e ON e.id = d.endpoint_id
JOIN shops_shop h ON h.id = d.shop_id
LEFT JOIN webhooks_payload p ON p.id = d.payload_id
LEFT JOIN webhooks_subscription s ON s.id = d.subscription_id
LEFT JOIN events_event v ON v.id = d.event_id
"""

# Deliveries of a read-only shop are not sent. If the shop is moving, the new installation sends them.
_WRITABLE = "NOT EXISTS (SELECT 1 FROM shops_shop h WHERE h.id = w.shop_id AND h.read_only_at IS NOT NULL)"

# With ordered delivery, a delivery is claimed only if no earlier event of the resource is waiting, in progress or
# pending for fan-out. ``OFFSET 0`` makes PostgreSQL run the subquery for each event, instead of once for all events.
_IN_ORDER = """
(w.ordering_key = '' OR NOT (
  EXISTS (
    SELECT 1 FROM webhooks_delivery o
    WHERE o.subscription_id = w.subscription_id AND o.ordering_key = w.ordering_key AND o.ordering_key <> ''
      AND o.state IN ('due', 'retry', 'leased') AND o.event_id < w.event_id
  ) OR EXISTS (
    SELECT 1 FROM events_event mine
    JOIN events_event before ON before.shop_id = mine.shop_id AND before.subject_type = mine.subject_type
      AND before.subject_id = mine.subject_id AND before.id < mine.id
    JOIN webhooks_pending waits ON waits.event_id = before.id
    WHERE mine.id = w.event_id AND waits.event_id < w.event_id AND waits.shop_id = w.shop_id
    LIMIT 1 OFFSET 0
  )
))
"""


def is_delivery_in(query: str) -> str:
    """Return the SQL condition that delivery ``d`` is in a query (CTE) with the columns ``ctid`` and ``id``.

    PostgreSQL finds the deliveries by ``ctid``. With statistics of an empty or finished queue, it could otherwise read
    a whole unsuitable index. The ID is compared too, because ``ctid`` is not unique in partitions. ``IS TRUE`` prevents
    a join, so the IDs are hashed.
    """
    return f"d.ctid = ANY (ARRAY(SELECT ctid FROM {query})) AND (d.id IN (SELECT id FROM {query})) IS TRUE"  # noqa: S608


def _lock_first_due(condition: str) -> str:
    """Return SQL that locks an endpoint's due deliveries ``w`` that fulfill a condition, among the first ones.

    A subquery that locks rows runs once for each row. With a plain join, PostgreSQL could read the first ones for each
    delivery. See ``is_delivery_in`` about ``ctid``.
    """
    return f"""
  SELECT w.ctid, w.id FROM (
    SELECT f.ctid, f.id, f.next_at FROM webhooks_delivery f
    WHERE f.endpoint_id = room.endpoint_id AND f.state = %s AND f.state IN ('due', 'retry') AND f.next_at <= now()
    ORDER BY f.next_at, f.id LIMIT {_MAX_READ}
  ) first CROSS JOIN LATERAL (
    SELECT w.ctid, w.id FROM webhooks_delivery w
    WHERE w.ctid = first.ctid AND w.id = first.id AND w.state = %s AND w.next_at <= now() AND {condition}
    FOR UPDATE OF w SKIP LOCKED
  ) w
  ORDER BY first.next_at, first.id
"""  # noqa: S608 - texts of our own


_CLAIM = f"""
WITH room AS (
  SELECT * FROM unnest(%s::bigint[], %s::int[]) AS r (endpoint_id, free)
), due AS (
  SELECT one.ctid, one.id FROM room CROSS JOIN LATERAL (
    {_lock_first_due(f"{_WRITABLE} AND {_IN_ORDER}")} LIMIT room.free
  ) one
), taken AS (
  UPDATE webhooks_delivery d
  SET state = 'leased', lease = %s, lease_until = now() + %s * interval '1 second', attempts = attempts + 1,
    updated_at = now()
  WHERE {is_delivery_in("due")}
  RETURNING d.*, extract(epoch FROM now() - d.next_at)::float AS waited
)
SELECT {_COLUMNS}, d.waited FROM taken d {_JOINS}
CROSS JOIN (SELECT set_config('synchronous_commit', 'off', true)) AS quick
"""  # noqa: S608 - texts of our own


# ``OFFSET 0`` prevents a join, as in ``_IN_ORDER``.
_WAITS_FOR_WAITING = """
w.ordering_key <> '' AND EXISTS (
  SELECT 1 FROM webhooks_delivery o
  WHERE o.subscription_id = w.subscription_id AND o.ordering_key = w.ordering_key AND o.ordering_key <> ''
    AND o.state IN ('due', 'retry', 'leased') AND o.state <> 'leased' AND o.event_id < w.event_id
  OFFSET 0
)
"""
_POSTPONE = f"""
WITH blocked AS (
  SELECT one.ctid, one.id FROM unnest(%s::bigint[]) AS room (endpoint_id) CROSS JOIN LATERAL (
    {_lock_first_due(_WAITS_FOR_WAITING)}
  ) one
), postponed AS (
  UPDATE webhooks_delivery d
  SET next_at = now() + interval '{_POSTPONED_SECONDS} seconds', lease_until = coalesce(d.lease_until, d.next_at)
  WHERE {is_delivery_in("blocked")}
  RETURNING d.id
)
SELECT count(*) FROM postponed CROSS JOIN (SELECT set_config('synchronous_commit', 'off', true)) AS quick
"""  # noqa: S608 - texts of our own


def claim_deliveries(free_slots: Mapping[int, int], kind: AttemptKind) -> list[Claim]:
    """Claim waiting deliveries. ``free_slots`` is the number of calls that may start, keyed by endpoint ID."""
    if not free_slots:
        return []
    lease = uuid6.uuid7()
    if connection.vendor == "postgresql":
        rows = _claim_on_server(free_slots, kind, lease)
    else:
        rows = _claim_one_by_one(free_slots, kind, lease)
    # If several deliveries share a payload, only the first row contains the bytes.
    bodies: dict[int, bytes] = {}
    for row in rows:
        bodies[row[_PAYLOAD]] = bytes(row[_BODY] or b"") or bodies.get(row[_PAYLOAD], b"")
    return [_build_claim(row, lease, kind, bodies) for row in rows]


def _claim_on_server(free_slots: Mapping[int, int], kind: AttemptKind, lease: UUID) -> Rows:
    """Claim deliveries on PostgreSQL. If slots of an endpoint stay free, postpone its blocked deliveries and repeat."""
    state = kind.value
    rows: Rows = []
    short = dict(free_slots)
    for _ in range(_MAX_POSTPONEMENTS):
        found = execute_by_index(_CLAIM, [list(short), list(short.values()), state, state, lease, LEASE_SECONDS])
        rows += found
        counts = Counter(row[_ENDPOINT] for row in found)
        short = {endpoint: free - counts[endpoint] for endpoint, free in short.items() if counts[endpoint] < free}
        if not short or not postpone_waiting(list(short), kind):
            break
    return rows


def postpone_waiting(endpoints: Sequence[int], kind: AttemptKind) -> int:
    """Postpone deliveries that wait for earlier deliveries of their resource, and return their number."""
    ((count,),) = execute_by_index(_POSTPONE, [list(endpoints), kind.value, kind.value])
    return int(count)


def _build_claim(row: Sequence[Any], lease: UUID, kind: AttemptKind, bodies: Mapping[int, bytes]) -> Claim:
    pk, key, shop, app, endpoint, subscription, uri, topic, version, number, redelivery = row[:11]
    triggered_at, payload, size, _, domain, group, sequence, name, ordered, action, waited = row[11:]
    return Claim(
        pk=pk,
        lease_token=lease,
        kind=kind,
        key=_parse_uuid(key),
        shop=shop,
        app=app,
        endpoint=endpoint,
        subscription=subscription,
        uri=uri,
        topic=topic,
        api_version=version,
        number=number,
        redelivery=bool(redelivery),
        triggered_at=parse_timestamp(triggered_at),
        wait_seconds=max(0.0, waited),
        body=bodies[payload],
        domain=domain,
        group=None if group is None else _parse_uuid(group),
        sequence=sequence,
        name=name,
        ordered=bool(ordered),
        action=action if size is not None else CANCEL,
    )


def _parse_uuid(value: UUID | str) -> UUID:
    return value if isinstance(value, UUID) else UUID(value)


def parse_timestamp(value: datetime | str) -> datetime:
    """Parse a timestamp from a query result. SQLite returns timestamps as strings in UTC."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    return value if value.tzinfo else value.replace(tzinfo=timezone.get_default_timezone())


def _claim_one_by_one(free_slots: Mapping[int, int], kind: AttemptKind, lease: UUID) -> list[Any]:
    now = timezone.now()
    ids: list[int] = []
    waiting = (
        "SELECT w.id FROM webhooks_delivery w WHERE w.endpoint_id = %s AND w.state = %s"  # noqa: S608
        f" AND w.state IN ('due', 'retry') AND w.next_at <= %s AND {_WRITABLE} AND {_IN_ORDER}"
        " ORDER BY w.next_at, w.id LIMIT %s"
    )
    with transaction.atomic(), all_shops_scope(), connection.cursor() as cursor:
        for endpoint, limit in free_slots.items():
            cursor.execute(waiting, [endpoint, kind.value, now, limit])
            ids += [pk for (pk,) in cursor.fetchall()]
        if not ids:
            return []
        placeholders = ", ".join(["%s"] * len(ids))
        cursor.execute(
            f"SELECT {_COLUMNS}, d.next_at FROM webhooks_delivery d {_JOINS} WHERE d.id IN ({placeholders})",  # noqa: S608
            ids,
        )
        rows = cursor.fetchall()
        cursor.execute(
            "UPDATE webhooks_delivery SET state = 'leased', lease = %s, lease_until = %s, attempts = attempts + 1,"  # noqa: S608
            f" updated_at = %s WHERE id IN ({placeholders})",
            [lease.hex, now + timedelta(seconds=LEASE_SECONDS), now, *ids],
        )
    return [(*row[:9], row[9] + 1, *row[10:-1], (now - parse_timestamp(row[-1])).total_seconds()) for row in rows]
