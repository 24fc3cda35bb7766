"""Where deliveries wait, which are still held or come back from workers that were lost, and whom nobody calls now."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection
from django.utils import timezone

from apps.ground.sql import execute
from apps.ground.tenancy import every_shop
from apps.webhooks.domain.engine.claims import LEASE_SECONDS, Claim, moment_of
from apps.webhooks.domain.engine.schedule import MAX_BEGUN
from apps.webhooks.models import Delivery, Endpoint, Host

_REAPED_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Waiting:
    """An endpoint at which something waits: seconds until the first, by turn, None where nothing does; its limits."""

    endpoint: int
    max_in_flight: int
    max_per_second: int | None
    due: float | None
    retry: float | None


# From endpoint to endpoint by the index, however much waits at each.
_SCAN = """
WITH RECURSIVE lane (endpoint_id) AS (
  SELECT min(endpoint_id) FROM webhooks_delivery WHERE state IN ('due', 'retry')
  UNION ALL
  SELECT (
    SELECT min(w.endpoint_id) FROM webhooks_delivery w
    WHERE w.state IN ('due', 'retry') AND w.endpoint_id > lane.endpoint_id
  ) FROM lane WHERE lane.endpoint_id IS NOT NULL
)
SELECT lane.endpoint_id, e.max_in_flight, e.max_per_second,
  (SELECT min(w.next_at) FROM webhooks_delivery w
    WHERE w.endpoint_id = lane.endpoint_id AND w.state = 'due' AND w.state IN ('due', 'retry')),
  (SELECT min(w.next_at) FROM webhooks_delivery w
    WHERE w.endpoint_id = lane.endpoint_id AND w.state = 'retry' AND w.state IN ('due', 'retry')),
  {now}
FROM lane JOIN webhooks_endpoint e ON e.id = lane.endpoint_id JOIN shops_shop h ON h.id = e.shop_id
WHERE h.read_only_at IS NULL
"""


def scan() -> list[Waiting]:
    """Where something waits, and how long until its turn."""
    if connection.vendor == "postgresql":
        rows = execute(_SCAN.format(now="now()"), [])
    else:
        rows = execute(_SCAN.format(now="NULL"), [])
    here = timezone.now()

    def until(moment: datetime | str | None, now: datetime | None) -> float | None:
        return None if moment is None else (moment_of(moment) - (now or here)).total_seconds()

    return [
        Waiting(endpoint, at_once, a_second, until(due, now), until(retry, now))
        for endpoint, at_once, a_second, due, retry, now in rows
    ]


def endpoints(pks: Iterable[int]) -> list[Endpoint]:
    """The endpoints with these ids."""
    with every_shop():
        return list(Endpoint.objects.filter(pk__in=list(pks)))


def hold_on(held: Collection[Claim]) -> None:
    """Make the leases longer of deliveries that are still ours; one that was given to somebody else stays theirs."""
    for lease, pks in _by_lease(held).items():
        if connection.vendor == "postgresql":
            # By the database's clock, like the claim.
            execute(_HOLD_ON, [LEASE_SECONDS, pks, lease])
        else:
            until = timezone.now() + timedelta(seconds=LEASE_SECONDS)
            with every_shop():
                Delivery.objects.filter(pk__in=pks, lease=lease).update(lease_until=until)


_HOLD_ON = """
UPDATE webhooks_delivery SET lease_until = now() + %s * interval '1 second'
WHERE id = ANY (%s::bigint[]) AND lease = %s AND state = 'leased' RETURNING id
"""


def _by_lease(held: Collection[Claim]) -> dict[UUID, list[int]]:
    found: dict[UUID, list[int]] = {}
    for each in held:
        found.setdefault(each.lease, []).append(each.pk)
    return found


def reap() -> int:
    """Give back what is leased to somebody who has not come back; returns how many."""
    on_server = connection.vendor == "postgresql"
    moment, lock = ("now()", "FOR UPDATE SKIP LOCKED") if on_server else ("%s", "")
    sql = f"""
UPDATE webhooks_delivery SET state = CASE WHEN attempts >= {MAX_BEGUN} THEN 'dead' ELSE 'retry' END,
  lease = NULL, lease_until = NULL, next_at = {moment}, updated_at = {moment}, error = 'worker_lost'
WHERE id IN (
  SELECT id FROM webhooks_delivery WHERE state = 'leased' AND lease_until < {moment} LIMIT {_REAPED_AT_ONCE} {lock}
)
RETURNING id
"""  # noqa: S608
    return len(execute(sql, [] if on_server else [timezone.now()] * 3))


def note_breaker(host: str, *, trips: int, pause: float, error: str) -> None:
    """Let the other processes know that a host's breaker opened (for so many seconds), or closed (0 trips)."""
    until = timezone.now() + timedelta(seconds=pause) if trips else None
    values = {"trips": trips, "paused_until": until, "last_error": error[:255]}
    Host.objects.update_or_create(name=host, defaults=values)


def open_breakers() -> dict[str, tuple[int, float]]:
    """By host, how often its breaker opened and for how many seconds more it stays so."""
    now = timezone.now()
    rows = Host.objects.filter(paused_until__gt=now).values_list("name", "trips", "paused_until")
    return {name: (trips, (until - now).total_seconds()) for name, trips, until in rows if until is not None}
