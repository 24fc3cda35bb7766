"""Write the results of deliveries to the database, many results with one statement.

A result is written together with an attempt row. The state of the delivery changes only if the delivery still has the
lease token of the claim. The attempt of a late result is logged as *fenced*. With ordered delivery, the next two
deliveries of the resource become due, because a claim may have postponed them.

On SQLite, results are written in a short transaction instead of one statement. Unlike claims, results are committed
durably.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import orjson
from django.db import connection, transaction
from django.utils import timezone

from apps.core.db.prepared_sql import execute_by_index
from apps.core.i18n.messages import encode_message
from apps.core.tenancy.scope import all_shops_scope
from apps.webhooks.domain.engine.claims import Claim, is_delivery_in
from apps.webhooks.models import Attempt, Delivery


@dataclass(slots=True)
class DeliveryResult:
    """The result of a claimed delivery.

    Attributes:
        delay: Seconds until the next attempt, if the state is ``retry``.
        counts_as_attempt: False if no attempt was made. In that case, the number of attempts does not increase and no
            attempt is logged.
        seconds_ago: Seconds since the attempt started.
    """

    claim: Claim
    state: str
    delay: float = 0.0
    error: str = ""
    counts_as_attempt: bool = True
    outcome: str = ""
    status: int | None = None
    message: str = ""
    seconds_ago: float = 0.0
    connect_ms: int | None = None
    first_byte_ms: int | None = None
    total_ms: int = 0
    remote_ip: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    excerpt: str = ""


# The due time of a postponed delivery is in ``lease_until``.
_WRITE = f"""
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
  RETURNING d.id, d.subscription_id, d.ordering_key, d.state
), next AS (
  SELECT n.ctid, n.id FROM moved m CROSS JOIN LATERAL (
    SELECT w.ctid, w.id, w.lease_until FROM webhooks_delivery w
    WHERE w.subscription_id = m.subscription_id AND w.ordering_key = m.ordering_key AND w.ordering_key <> ''
      AND w.state IN ('due', 'retry', 'leased') AND w.state <> 'leased'
    ORDER BY w.event_id LIMIT 2
  ) n
  WHERE m.ordering_key <> '' AND m.state NOT IN ('due', 'retry') AND n.lease_until IS NOT NULL
), due AS (
  UPDATE webhooks_delivery d SET next_at = d.lease_until, lease_until = NULL
  WHERE {is_delivery_in("next")} AND d.state <> 'leased' AND d.lease_until IS NOT NULL
), logged AS (
  INSERT INTO webhooks_attempt (created_at, updated_at, shop_id, delivery_id, number, outcome, status, error, fenced,
    queued_ms, connect_ms, first_byte_ms, total_ms, remote_ip, response_headers, excerpt)
  SELECT now() - r.ago * interval '1 second', now(), d.shop_id, d.id, r.number, r.outcome, r.status, r.message,
    m.id IS NULL, (r.waited * 1000)::int, r.connect_ms, r.first_byte_ms, r.total_ms, r.remote_ip::inet,
    coalesce(r.headers, '{{}}'), r.excerpt
  FROM r JOIN webhooks_delivery d ON d.id = r.id LEFT JOIN moved m ON m.id = r.id
  WHERE r.counts
)
SELECT id FROM moved
"""  # noqa: S608 - texts of our own


def write_results(results: Sequence[DeliveryResult]) -> set[int]:
    """Write results, and return the IDs of deliveries that have lost their lease or were deleted."""
    if not results:
        return set()
    if connection.vendor == "postgresql":
        updated_ids = {pk for (pk,) in execute_by_index(_WRITE, [_encode_results(results)])}
    else:
        updated_ids = _write_one_by_one(results)
    return {result.claim.pk for result in results} - updated_ids


def _encode_results(results: Sequence[DeliveryResult]) -> str:
    """Encode the results as one JSON parameter, because eighteen array parameters would be slower."""
    return orjson.dumps(
        [
            {
                "id": result.claim.pk,
                "lease": str(result.claim.lease_token),
                "state": result.state,
                "delay": result.delay,
                "error": result.error,
                "counts": result.counts_as_attempt,
                "number": result.claim.number,
                "outcome": result.outcome,
                "status": result.status,
                "message": encode_message(result.message),
                "ago": result.seconds_ago,
                "waited": min(result.claim.wait_seconds, 2e6),
                "connect_ms": result.connect_ms,
                "first_byte_ms": result.first_byte_ms,
                "total_ms": result.total_ms,
                "remote_ip": result.remote_ip,
                "headers": result.headers,
                "excerpt": result.excerpt,
            }
            for result in results
        ]
    ).decode()


def _write_one_by_one(results: Sequence[DeliveryResult]) -> set[int]:
    now = timezone.now()
    updated_ids: set[int] = set()
    with transaction.atomic(), all_shops_scope():
        for result in results:
            leased_row = Delivery.objects.filter(pk=result.claim.pk, lease=result.claim.lease_token)
            changes: dict[str, Any] = {"state": result.state, "lease": None, "lease_until": None, "error": result.error}
            changes["finished_at"] = now if result.state in {"done", "dead", "cancelled"} else None
            if result.state == Delivery.State.RETRY:
                changes["next_at"] = now + timedelta(seconds=result.delay)
            if not result.counts_as_attempt:
                changes["attempts"] = max(0, result.claim.number - 1)
            elif result.claim.number == 1:
                changes["first_attempt_at"] = now - timedelta(seconds=result.seconds_ago)
            if leased_row.update(**changes):
                updated_ids.add(result.claim.pk)
        rows = Delivery.objects.filter(pk__in=[result.claim.pk for result in results])
        existing_ids = {*rows.values_list("pk", flat=True)}
        Attempt.objects.bulk_create(
            [
                Attempt(
                    shop_id=result.claim.shop,
                    delivery_id=result.claim.pk,
                    number=result.claim.number,
                    outcome=result.outcome,
                    status=result.status,
                    error=result.message,
                    fenced=result.claim.pk not in updated_ids,
                    queued_ms=int(result.claim.wait_seconds * 1000),
                    connect_ms=result.connect_ms,
                    first_byte_ms=result.first_byte_ms,
                    total_ms=result.total_ms,
                    remote_ip=result.remote_ip,
                    response_headers=result.headers,
                    excerpt=result.excerpt,
                    created_at=now - timedelta(seconds=result.seconds_ago),
                )
                for result in results
                if result.counts_as_attempt and result.claim.pk in existing_ids
            ]
        )
    return updated_ids
