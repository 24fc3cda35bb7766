"""Read from a streaming replica of the database, if the installation has a replica (``BACKOFFICE_REPLICA_URL``).

A position is a byte offset in the primary's write-ahead log. A replica contains all changes up to the position that it
has replayed.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, connections

from apps.core.db.prepared_sql import execute_prepared
from apps.core.db.transient_errors import is_transient_db_error

T = TypeVar("T")

REPLICA_ALIAS = "replica"
# A replica that did not respond is not used for this many seconds.
BACK_OFF_SECONDS = 5.0
_SAMPLE_SECONDS = 1.0

_PRIMARY_SQL = "SELECT (pg_current_wal_lsn() - '0/0')::bigint"
# Use the insert position, because with asynchronous commits, the last commit may only be in the WAL buffers.
_WRITTEN_SQL = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint"
# A replica that was promoted to a primary is not used, because its data is independent of our primary.
_REPLICA_SQL = """
SELECT CASE WHEN pg_is_in_recovery() THEN (pg_last_wal_replay_lsn() - '0/0')::bigint END,
       (SELECT version FROM shops_shop WHERE id = %s)
"""


def has_replica() -> bool:
    return REPLICA_ALIAS in connections.settings


def get_write_position() -> int:
    """Return a position that includes all changes committed so far."""
    return int(execute_prepared(_WRITTEN_SQL, [])[0][0])


@dataclass
class ReplicaStatus:
    """The replica's lag as measured by this process.

    At most once per second, a read samples the primary's position. All changes between two samples count as if they
    were made at the time of the earlier sample, so the lag may be overestimated, but never underestimated.
    """

    # The last measured lag in seconds, or None if the replica does not respond or was not used yet.
    lag: float | None = None
    _samples: deque[tuple[float, int]] = field(default_factory=deque)
    _asked_at: float = float("-inf")
    _away_until: float = float("-inf")
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def sample(self) -> None:
        """Sample the primary's position, unless the last sample is less than a second old."""
        now = time.monotonic()
        with self._lock:
            before = self._asked_at
            if now - before < _SAMPLE_SECONDS:
                return
            self._asked_at = now
        position = int(execute_prepared(_PRIMARY_SQL, [])[0][0])
        with self._lock:
            self._samples.append((before, position))
            while len(self._samples) > 1 and self._samples[1][0] < now - 2 * settings.REPLICA_LAG_SECONDS:
                self._samples.popleft()

    def is_backing_off(self) -> bool:
        return time.monotonic() < self._away_until

    def back_off(self) -> None:
        """Stop using the replica for a while, because it does not respond."""
        self.lag, self._away_until = None, time.monotonic() + BACK_OFF_SECONDS

    def is_current(self, replayed: int) -> bool:
        """Record the lag, and return True if it does not exceed ``REPLICA_LAG_SECONDS``."""
        with self._lock:
            since = next((at for at, position in self._samples if position > replayed), None)
        self.lag = 0.0 if since is None else time.monotonic() - since
        return self.lag <= settings.REPLICA_LAG_SECONDS

    def is_available(self) -> bool:
        """Query the primary and the replica, and return True if the replica can be used now."""
        try:
            self.sample()
            return _replayed(0)[0] is not None
        except Error:
            return False


replica_status = ReplicaStatus()


def read_on_replica(
    work: Callable[[], T], *, shop_id: int, shop_version: int, required_position: int, not_found: type[Exception]
) -> T:
    """Run read-only work on the replica if possible, otherwise on the primary.

    The replica is only used if it has replayed the required position and has the same version of the shop. The work
    runs again on the primary if the replica fails, or if the work raises ``not_found``, because the row may not be on
    the replica yet.
    """
    if replica_status.is_backing_off() or connections[DEFAULT_DB_ALIAS].in_atomic_block:
        return work()
    replica_status.sample()
    try:
        replayed, version = _replayed(shop_id)
    except Error:
        return work()
    if replayed is None or replayed < required_position or version != shop_version:
        return work()
    try:
        with _route_to_replica():
            return work()
    except Exception as error:
        if not (isinstance(error, not_found) or is_transient_db_error(error)):
            raise
    return work()


def _replayed(shop_id: int) -> tuple[int | None, int | None]:
    """Return the replica's position, or None if the replica must not be used, and its version of the shop."""
    connection = connections[REPLICA_ALIAS]
    # Skip Django's health check, because the following query checks the connection.
    connection.health_check_done = True  # type: ignore[attr-defined]
    try:
        with _route_to_replica():
            ((position, version),) = execute_prepared(_REPLICA_SQL, [shop_id])
    except Error:
        connection.close()
        replica_status.back_off()
        raise
    return (position if position is not None and replica_status.is_current(position) else None), version


@contextmanager
def _route_to_replica() -> Iterator[None]:
    """Route this thread's queries to the replica, including raw SQL."""
    primary = connections[DEFAULT_DB_ALIAS]
    connections[DEFAULT_DB_ALIAS] = connections[REPLICA_ALIAS]
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = primary
