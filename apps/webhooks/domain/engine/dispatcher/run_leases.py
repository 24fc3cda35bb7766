"""Leases that limit the number of concurrent runs, so that messages never occupy all processes of a worker.

A message that finds all leases taken marks the lease of the first run. The run checks the mark in the statement that
releases the lease. So no message is lost: either it finds a free lease, or the run that holds the lease sees the mark.
Times are compared with the database clock.
"""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID, uuid4

from django.conf import settings
from django.db import connection
from django.utils import timezone

from apps.core.db.prepared_sql import Rows, execute_prepared
from apps.webhooks.domain.engine.claims import parse_timestamp
from apps.webhooks.domain.engine.fan_out import WRITABLE_SHOPS_WITH_PENDING
from apps.webhooks.domain.engine.maintenance import WAITING_ENDPOINTS

LEASE_SECONDS = 15
RENEW_SECONDS = 5.0

# The moments at which each endpoint's first delivery of each kind may start, also considering the circuit breaker.
_FIRST_START = """
SELECT CASE WHEN o.paused_until > w.next_at THEN o.paused_until ELSE w.next_at END AS moment
FROM lane
JOIN webhooks_endpoint e ON e.id = lane.endpoint_id
JOIN shops_shop h ON h.id = e.shop_id AND h.read_only_at IS NULL
LEFT JOIN webhooks_host o ON o.name = e.host
JOIN webhooks_delivery w ON w.id = (
  SELECT f.id FROM webhooks_delivery f
  WHERE f.endpoint_id = lane.endpoint_id AND f.state = '{kind}' AND f.state IN ('due', 'retry')
  ORDER BY f.next_at, f.id LIMIT 1
)
"""
_FIND_WORK = f"""
WITH RECURSIVE {WAITING_ENDPOINTS}
SELECT {{now}},
  EXISTS ({WRITABLE_SHOPS_WITH_PENDING})
    OR EXISTS (SELECT 1 FROM webhooks_delivery WHERE state = 'leased' AND lease_until < {{now}}),
  (SELECT min(moment) FROM ({_FIRST_START.format(kind="due")} UNION ALL {_FIRST_START.format(kind="retry")}) AS first)
"""  # noqa: S608 - texts of our own
_ACQUIRE = """
WITH slots (slot) AS (VALUES {slots})
INSERT INTO webhooks_deliveryrun AS run (slot, token, lease_until, is_wanted)
SELECT COALESCE((
  SELECT min(s.slot) FROM slots s LEFT JOIN webhooks_deliveryrun r ON r.slot = s.slot
  WHERE r.lease_until IS NULL OR r.lease_until < {now}
), 0), %s, {until}, FALSE
WHERE TRUE
ON CONFLICT (slot) DO UPDATE SET
  is_wanted = COALESCE(run.lease_until >= {now}, FALSE),
  token = CASE WHEN run.lease_until >= {now} THEN run.token ELSE excluded.token END,
  lease_until = CASE WHEN run.lease_until >= {now} THEN run.lease_until ELSE excluded.lease_until END
RETURNING slot, token
"""
_RENEW = "UPDATE webhooks_deliveryrun SET lease_until = {until} WHERE slot = %s AND token = %s RETURNING slot"
_RELEASE = """
UPDATE webhooks_deliveryrun SET lease_until = NULL, token = NULL WHERE slot = %s AND token = %s RETURNING is_wanted
"""


@dataclass(frozen=True, slots=True)
class RunLease:
    slot: int
    token: UUID


def get_seconds_until_work() -> float | None:
    """Return 0 if there is work, the seconds until the next delivery may start, or None if no delivery waits."""
    now_text = "now()" if connection.vendor == "postgresql" else f"'{_format_time(0)}'"
    ((now, has_work, first_start),) = execute_prepared(_FIND_WORK.replace("{now}", now_text), [])
    if has_work:
        return 0.0
    if first_start is None:
        return None
    return max(0.0, (parse_timestamp(first_start) - parse_timestamp(now)).total_seconds())


def acquire_run_lease() -> RunLease | None:
    """Acquire a lease, or mark the first run as wanted and return None."""
    token = uuid4()
    slots = ", ".join(f"({slot})" for slot in range(settings.WEBHOOK_RUNS))
    ((slot, holder),) = _execute(_ACQUIRE.replace("{slots}", slots), [_adapt(token)])
    return RunLease(slot, token) if str(holder).replace("-", "") == token.hex else None


def renew_run_lease(lease: RunLease) -> bool:
    """Renew a lease. Return False if it has expired and another run has acquired it."""
    return bool(_execute(_RENEW, [lease.slot, _adapt(lease.token)]))


def release_run_lease(lease: RunLease) -> bool:
    """Release a lease. Return True if a message asked for another run in the meantime."""
    return any(is_wanted for (is_wanted,) in _execute(_RELEASE, [lease.slot, _adapt(lease.token)]))


def _execute(sql: str, parameters: list[object]) -> Rows:
    if connection.vendor == "postgresql":
        now, until = "now()", f"now() + interval '{LEASE_SECONDS} seconds'"
    else:
        now, until = f"'{_format_time(0)}'", f"'{_format_time(LEASE_SECONDS)}'"
    return execute_prepared(sql.replace("{now}", now).replace("{until}", until), parameters)


def _format_time(seconds: float) -> str:
    """Return the time in some seconds as SQLite stores it."""
    return str(connection.ops.adapt_datetimefield_value(timezone.now() + timedelta(seconds=seconds)))


def _adapt(token: UUID) -> UUID | str:
    return token if connection.vendor == "postgresql" else token.hex
