"""Writing what became of deliveries, many at a time.

A result is written where the token of its lease still stands, with its attempt. Whoever comes late finds the row
*fenced*: the attempt is logged, the state untouched. PostgreSQL does it in one statement; SQLite, which has one writer,
in a short transaction. Results wait for the disk.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import orjson
from django.db import connection, transaction
from django.utils import timezone

from apps.ground.sql import execute
from apps.ground.tenancy import every_shop
from apps.webhooks.domain.engine.claims import Claim
from apps.webhooks.models import Attempt, Delivery


@dataclass(slots=True)
class Result:
    """What became of a claim.

    Attributes:
        state: The delivery's next state.
        delay: Seconds to its next attempt.
        counts: Whether an attempt was made; else the number of the attempt is given back and nothing is logged.
        ago: Seconds since the attempt began.
    """

    claim: Claim
    state: str
    delay: float = 0.0
    error: str = ""
    counts: bool = True
    outcome: str = ""
    status: int | None = None
    message: str = ""
    ago: float = 0.0
    connect_ms: int | None = None
    first_byte_ms: int | None = None
    total_ms: int = 0
    remote_ip: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    excerpt: str = ""


_WRITE = """
WITH r AS (
  SELECT * FROM json_to_recordset(%s::json) AS r (id bigint, lease uuid, state text, delay float, error text,
    counts bool, number int, outcome text, status int, message text, ago float, waited float, connect_ms int,
    first_byte_ms int, total_ms int, remote_ip text, headers jsonb, excerpt text)
), moved AS (
  UPDATE webhooks_delivery d
  SET state = r.state, lease = NULL, lease_until = NULL, error = r.error, updated_at = now(),
    next_at = CASE WHEN r.state = 'retry' THEN now() + r.delay * interval '1 second' ELSE d.next_at END,
    attempts = CASE WHEN r.counts THEN d.attempts ELSE greatest(d.attempts - 1, 0) END,
    first_attempt_at = CASE WHEN r.counts THEN coalesce(d.first_attempt_at, now() - r.ago * interval '1 second')
      ELSE d.first_attempt_at END,
    finished_at = CASE WHEN r.state IN ('done', 'dead', 'cancelled') THEN now() END
  FROM r WHERE d.id = r.id AND d.lease = r.lease
  RETURNING d.id
), logged AS (
  INSERT INTO webhooks_attempt (created_at, updated_at, shop_id, delivery_id, number, outcome, status, error, fenced,
    queued_ms, connect_ms, first_byte_ms, total_ms, remote_ip, response_headers, excerpt)
  SELECT now() - r.ago * interval '1 second', now(), d.shop_id, d.id, r.number, r.outcome, r.status, r.message,
    m.id IS NULL, (r.waited * 1000)::int, r.connect_ms, r.first_byte_ms, r.total_ms, r.remote_ip::inet,
    coalesce(r.headers, '{}'), r.excerpt
  FROM r JOIN webhooks_delivery d ON d.id = r.id LEFT JOIN moved m ON m.id = r.id
  WHERE r.counts
)
SELECT id FROM moved
"""


def write(results: Sequence[Result]) -> set[int]:
    """Write what became of deliveries; returns those whose lease had run out, or that are gone."""
    if not results:
        return set()
    if connection.vendor == "postgresql":
        moved = {pk for (pk,) in execute(_WRITE, [_rows(results)])}
    else:
        moved = _write_one_by_one(results)
    return {result.claim.pk for result in results} - moved


def _rows(results: Sequence[Result]) -> str:
    """The results as one parameter; eighteen arrays would cost more than all else that is done with them."""
    return orjson.dumps(
        [
            {
                "id": each.claim.pk,
                "lease": str(each.claim.lease),
                "state": each.state,
                "delay": each.delay,
                "error": each.error,
                "counts": each.counts,
                "number": each.claim.number,
                "outcome": each.outcome,
                "status": each.status,
                "message": each.message,
                "ago": each.ago,
                "waited": min(each.claim.waited, 2e6),
                "connect_ms": each.connect_ms,
                "first_byte_ms": each.first_byte_ms,
                "total_ms": each.total_ms,
                "remote_ip": each.remote_ip,
                "headers": each.headers,
                "excerpt": each.excerpt,
            }
            for each in results
        ]
    ).decode()


def _write_one_by_one(results: Sequence[Result]) -> set[int]:
    now = timezone.now()
    moved: set[int] = set()
    with transaction.atomic(), every_shop():
        for each in results:
            held = Delivery.objects.filter(pk=each.claim.pk, lease=each.claim.lease)
            changes: dict[str, Any] = {"state": each.state, "lease": None, "lease_until": None, "error": each.error}
            changes["finished_at"] = now if each.state in {"done", "dead", "cancelled"} else None
            if each.state == Delivery.State.RETRY:
                changes["next_at"] = now + timedelta(seconds=each.delay)
            if not each.counts:
                changes["attempts"] = max(0, each.claim.number - 1)
            elif each.claim.number == 1:
                changes["first_attempt_at"] = now - timedelta(seconds=each.ago)
            if held.update(**changes):
                moved.add(each.claim.pk)
        there = {*Delivery.objects.filter(pk__in=[each.claim.pk for each in results]).values_list("pk", flat=True)}
        Attempt.objects.bulk_create(
            [
                Attempt(
                    shop_id=each.claim.shop,
                    delivery_id=each.claim.pk,
                    number=each.claim.number,
                    outcome=each.outcome,
                    status=each.status,
                    error=each.message,
                    fenced=each.claim.pk not in moved,
                    queued_ms=int(each.claim.waited * 1000),
                    connect_ms=each.connect_ms,
                    first_byte_ms=each.first_byte_ms,
                    total_ms=each.total_ms,
                    remote_ip=each.remote_ip,
                    response_headers=each.headers,
                    excerpt=each.excerpt,
                    created_at=now - timedelta(seconds=each.ago),
                )
                for each in results
                if each.counts and each.claim.pk in there
            ]
        )
    return moved
