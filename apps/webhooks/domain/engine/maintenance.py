"""Periodic tasks of a dispatcher: find waiting deliveries, extend and expire leases, and share circuit breakers."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection
from django.utils import timezone

from apps.core.db.clock import get_database_time
from apps.core.db.prepared_sql import execute_by_index
from apps.core.tenancy.scope import all_shops_scope
from apps.webhooks.domain.engine.claims import LEASE_SECONDS, Claim, parse_timestamp
from apps.webhooks.domain.engine.retry_policy import MAX_STARTED_ATTEMPTS
from apps.webhooks.models import Delivery, Endpoint, Host

_REAP_BATCH_SIZE = 1000


@dataclass(frozen=True, slots=True)
class WaitingEndpoint:
    """An endpoint with waiting deliveries, its limits, and the seconds until the first of each kind is due, if any."""

    endpoint: int
    max_in_flight: int
    max_per_second: int | None
    due: float | None
    retry: float | None


# The query skips from endpoint to endpoint in the index, so the number of deliveries does not affect the cost. ``min``
# instead of ``ORDER BY … LIMIT 1`` would read all deliveries of an endpoint if PostgreSQL expects only a few.
WAITING_ENDPOINTS = """
lane (endpoint_id) AS (
  SELECT * FROM (
    SELECT w.endpoint_id FROM webhooks_delivery w WHERE w.state IN ('due', 'retry') ORDER BY w.endpoint_id LIMIT 1
  ) first
  UNION ALL
  SELECT (
    SELECT w.endpoint_id FROM webhooks_delivery w
    WHERE w.state IN ('due', 'retry') AND w.endpoint_id > lane.endpoint_id ORDER BY w.endpoint_id LIMIT 1
  ) FROM lane WHERE lane.endpoint_id IS NOT NULL
)
"""
_SCAN = f"""
WITH RECURSIVE {WAITING_ENDPOINTS}
SELECT lane.endpoint_id, e.max_in_flight, e.max_per_second,
  (SELECT w.next_at FROM webhooks_delivery w
    WHERE w.endpoint_id = lane.endpoint_id AND w.state = 'due' AND w.state IN ('due', 'retry')
    ORDER BY w.next_at LIMIT 1),
  (SELECT w.next_at FROM webhooks_delivery w
    WHERE w.endpoint_id = lane.endpoint_id AND w.state = 'retry' AND w.state IN ('due', 'retry')
    ORDER BY w.next_at LIMIT 1),
  {{now}}
FROM lane JOIN webhooks_endpoint e ON e.id = lane.endpoint_id JOIN shops_shop h ON h.id = e.shop_id
WHERE h.read_only_at IS NULL
"""  # noqa: S608 - texts of our own


def scan_endpoints() -> list[WaitingEndpoint]:
    rows = execute_by_index(_SCAN.format(now="now()" if connection.vendor == "postgresql" else "NULL"), [])
    local_now = timezone.now()

    def until(moment: datetime | str | None, now: datetime | None) -> float | None:
        return None if moment is None else (parse_timestamp(moment) - (now or local_now)).total_seconds()

    return [
        WaitingEndpoint(endpoint, at_once, a_second, until(due_at, now), until(retry_at, now))
        for endpoint, at_once, a_second, due_at, retry_at, now in rows
    ]


def get_endpoints(pks: Iterable[int]) -> list[Endpoint]:
    with all_shops_scope():
        return list(Endpoint.objects.filter(pk__in=list(pks)))


def extend_leases(leased_claims: Collection[Claim]) -> None:
    """Extend this process's leases, except for deliveries that another process has leased in the meantime."""
    ids_by_lease: dict[UUID, list[int]] = {}
    for claim in leased_claims:
        ids_by_lease.setdefault(claim.lease_token, []).append(claim.pk)
    for lease, pks in ids_by_lease.items():
        if connection.vendor == "postgresql":
            # Use the database clock for leases, as in a claim.
            execute_by_index(_EXTEND_LEASES, [LEASE_SECONDS, pks, lease])
        else:
            until = timezone.now() + timedelta(seconds=LEASE_SECONDS)
            with all_shops_scope():
                Delivery.objects.filter(pk__in=pks, lease=lease).update(lease_until=until)


_EXTEND_LEASES = """
UPDATE webhooks_delivery SET lease_until = now() + %s * interval '1 second'
WHERE id = ANY (%s::bigint[]) AND lease = %s AND state = 'leased' RETURNING id
"""


def expire_leases() -> int:
    """Make deliveries with an expired lease wait for a retry, or dead after too many attempts. Return their number."""
    on_server = connection.vendor == "postgresql"
    moment, lock = ("now()", "FOR UPDATE SKIP LOCKED") if on_server else ("%s", "")
    sql = f"""
UPDATE webhooks_delivery SET state = CASE WHEN attempts >= {MAX_STARTED_ATTEMPTS} THEN 'dead' ELSE 'retry' END,
  lease = NULL, lease_until = NULL, next_at = {moment}, updated_at = {moment}, error = 'worker_lost'
WHERE id IN (
  SELECT id FROM webhooks_delivery WHERE state = 'leased' AND lease_until < {moment} LIMIT {_REAP_BATCH_SIZE} {lock}
)
RETURNING id
"""  # noqa: S608
    return len(execute_by_index(sql, [] if on_server else [timezone.now()] * 3))


def share_breaker_state(host: str, *, trips: int, pause: float, error: str) -> None:
    """Share the state of a host's circuit breaker with other processes. If ``trips`` is 0, the breaker has closed."""
    until = get_database_time() + timedelta(seconds=pause) if trips else None
    values = {"trips": trips, "paused_until": until, "last_error": error[:255]}
    Host.objects.update_or_create(name=host, defaults=values)


def get_open_breakers() -> dict[str, tuple[int, float]]:
    """Return the open circuit breakers by host, each with its number of trips and the seconds until its pause ends."""
    now = get_database_time()
    rows = Host.objects.filter(paused_until__gt=now).values_list("name", "trips", "paused_until")
    return {name: (trips, (until - now).total_seconds()) for name, trips, until in rows if until is not None}
