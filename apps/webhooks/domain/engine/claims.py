"""Taking deliveries out of the database to send them.

A claim gives a delivery a lease under a fresh token, by the database's clock; it takes only what can start at once.

PostgreSQL does it in one statement; SQLite, which has one writer, in a short transaction. A claim does not wait for the
disk: what a crash of the server takes of it was a lease, and its delivery goes out once more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import uuid6
from django.db import connection, transaction
from django.utils import timezone

from apps.ground.sql import execute
from apps.ground.tenancy import every_shop
from apps.webhooks.domain.engine.loop.lanes import Turn
from apps.webhooks.domain.topics import AFTER_UNINSTALLING

LEASE_SECONDS = 30

SEND, HOLD, CANCEL = "send", "hold", "cancel"


@dataclass(slots=True)
class Claim:
    """A delivery that is ours to send.

    Attributes:
        lease: The token under which it is held.
        turn: Whether it was waiting for its first attempt or for a further one.
        number: Which attempt this is, from 1.
        waited: Seconds since it was due.
        fate: ``send``, or ``hold`` or ``cancel`` where its subscription wants nothing now.
        group: ``X-…-Event-Id``.
        ordered: Whether others of its resource wait for it.
    """

    pk: int
    lease: UUID
    turn: Turn
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
    waited: float
    body: bytes
    domain: str
    group: UUID | None
    name: str | None
    ordered: bool
    fate: str


# Where these stand among the columns.
_PAYLOAD, _BODY = 12, 14
_AFTER = ", ".join(f"'{topic}'" for topic in sorted(AFTER_UNINSTALLING))
_COLUMNS = f"""
d.id, d.key, d.shop_id, d.app_id, d.endpoint_id, d.subscription_id, e.uri, d.topic, d.api_version, d.attempts,
d.redelivery, d.triggered_at, d.payload_id, length(p.body),
CASE WHEN row_number() OVER (PARTITION BY d.payload_id ORDER BY d.id) = 1 THEN p.body END, h.domain, v."group", s.name,
d.ordering_key <> '',
CASE
  WHEN d.subscription_id IS NULL AND EXISTS (
    SELECT 1 FROM shops_installation i
    WHERE i.shop_id = d.shop_id AND i.app_id = d.app_id AND i.uninstalled_at IS NULL
  ) THEN 'send'
  WHEN d.subscription_id IS NULL THEN 'cancel'
  WHEN s.deleted_at IS NOT NULL AND NOT (s.removed_by_uninstalling AND d.topic IN ({_AFTER})) THEN 'cancel'
  WHEN length(p.body) = 0 THEN 'cancel'
  WHEN d.kind = 'test' THEN 'send'
  WHEN d.topic NOT IN ({_AFTER}) AND NOT EXISTS (
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

# Nothing of a shop that can only be read: it is sent where the shop moves to.
_WRITABLE = "NOT EXISTS (SELECT 1 FROM shops_shop h WHERE h.id = w.shop_id AND h.read_only_at IS NOT NULL)"

# In order: nothing of the same resource is under way or waits from an earlier event, not even for its fan-out.
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
    WHERE mine.id = w.event_id
  )
))
"""

_CLAIM = f"""
WITH room AS (
  SELECT * FROM unnest(%s::bigint[], %s::int[]) AS r (endpoint_id, free)
), due AS (
  SELECT one.id, one.next_at FROM room CROSS JOIN LATERAL (
    SELECT w.id, w.next_at FROM webhooks_delivery w
    WHERE w.endpoint_id = room.endpoint_id AND w.state = %s AND w.state IN ('due', 'retry') AND w.next_at <= now()
      AND {_WRITABLE} AND {_IN_ORDER}
    ORDER BY w.next_at, w.id LIMIT room.free FOR UPDATE OF w SKIP LOCKED
  ) one
), taken AS (
  UPDATE webhooks_delivery d
  SET state = 'leased', lease = %s, lease_until = now() + %s * interval '1 second', attempts = attempts + 1,
    updated_at = now()
  FROM due WHERE d.id = due.id
  RETURNING d.*, extract(epoch FROM now() - due.next_at)::float AS waited
)
SELECT {_COLUMNS}, d.waited FROM taken d {_JOINS}
CROSS JOIN (SELECT set_config('synchronous_commit', 'off', true)) AS quick
"""  # noqa: S608 - texts of our own


def claim(room: Mapping[int, int], turn: Turn) -> list[Claim]:
    """Take what is waiting at endpoints, at most so much at each.

    Args:
        room: By endpoint, how many may begin.
        turn: Whether first attempts or further ones.
    """
    if not room:
        return []
    lease = uuid6.uuid7()
    if connection.vendor == "postgresql":
        rows = execute(_CLAIM, [list(room), list(room.values()), turn.value, lease, LEASE_SECONDS])
    else:
        rows = _claim_one_by_one(room, turn, lease)
    # The bytes of a payload come with the first of the deliveries that share them.
    bodies: dict[int, bytes] = {}
    for row in rows:
        bodies[row[_PAYLOAD]] = bytes(row[_BODY] or b"") or bodies.get(row[_PAYLOAD], b"")
    return [_claimed(row, lease, turn, bodies) for row in rows]


def _claimed(row: Sequence[Any], lease: UUID, turn: Turn, bodies: Mapping[int, bytes]) -> Claim:
    pk, key, shop, app, endpoint, subscription, uri, topic, version, number, redelivery = row[:11]
    triggered_at, payload, size, _, domain, group, name, ordered, fate, waited = row[11:]
    return Claim(
        pk=pk,
        lease=lease,
        turn=turn,
        key=_uuid(key),
        shop=shop,
        app=app,
        endpoint=endpoint,
        subscription=subscription,
        uri=uri,
        topic=topic,
        api_version=version,
        number=number,
        redelivery=bool(redelivery),
        triggered_at=moment_of(triggered_at),
        waited=max(0.0, waited),
        body=bodies[payload],
        domain=domain,
        group=None if group is None else _uuid(group),
        name=name,
        ordered=bool(ordered),
        fate=fate if size is not None else CANCEL,
    )


def _uuid(value: UUID | str) -> UUID:
    return value if isinstance(value, UUID) else UUID(value)


def moment_of(value: datetime | str) -> datetime:
    """SQLite hands time stamps out as text in UTC."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    return value if value.tzinfo else value.replace(tzinfo=timezone.get_default_timezone())


def _claim_one_by_one(room: Mapping[int, int], turn: Turn, lease: UUID) -> list[Any]:
    now = timezone.now()
    found: list[int] = []
    waiting = (
        "SELECT w.id FROM webhooks_delivery w WHERE w.endpoint_id = %s AND w.state = %s"  # noqa: S608
        f" AND w.state IN ('due', 'retry') AND w.next_at <= %s AND {_WRITABLE} AND {_IN_ORDER}"
        " ORDER BY w.next_at, w.id LIMIT %s"
    )
    with transaction.atomic(), every_shop(), connection.cursor() as cursor:
        for endpoint, free in room.items():
            cursor.execute(waiting, [endpoint, turn.value, now, free])
            found += [pk for (pk,) in cursor.fetchall()]
        if not found:
            return []
        places = ", ".join(["%s"] * len(found))
        cursor.execute(
            f"SELECT {_COLUMNS}, d.next_at FROM webhooks_delivery d {_JOINS} WHERE d.id IN ({places})",  # noqa: S608
            found,
        )
        rows = cursor.fetchall()
        cursor.execute(
            "UPDATE webhooks_delivery SET state = 'leased', lease = %s, lease_until = %s, attempts = attempts + 1,"  # noqa: S608
            f" updated_at = %s WHERE id IN ({places})",
            [lease.hex, now + timedelta(seconds=LEASE_SECONDS), now, *found],
        )
    return [(*row[:9], row[9] + 1, *row[10:-1], (now - moment_of(row[-1])).total_seconds()) for row in rows]
