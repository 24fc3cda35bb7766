"""Reading from a streaming replica of the database, where the installation has one (``BACKOFFICE_REPLICA_URL``).

A position is a place in the primary's log of writes, in bytes since its beginning; what the replica has replayed up to
a position, it shows.
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

from apps.ground.outages import is_outage
from apps.ground.sql import execute

T = TypeVar("T")

ALIAS = "replica"
# Seconds for which a replica that did not answer is left alone.
LEFT_ALONE_SECONDS = 5.0
_SAMPLE_SECONDS = 1.0

_PRIMARY_SQL = "SELECT (pg_current_wal_lsn() - '0/0')::bigint"
# What a commit has just written may stand in buffers only, where the operator lets commits be asynchronous.
_WRITTEN_SQL = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint"
# One that was made a primary goes its own way.
_REPLICA_SQL = """
SELECT CASE WHEN pg_is_in_recovery() THEN (pg_last_wal_replay_lsn() - '0/0')::bigint END,
       (SELECT version FROM shops_shop WHERE id = %s)
"""


def is_there() -> bool:
    """Whether the installation has a replica."""
    return ALIAS in connections.settings


def written() -> int:
    """The position behind everything that was committed."""
    return int(execute(_WRITTEN_SQL, [])[0][0])


@dataclass
class Standing:
    """What this process knows of how far the replica lags.

    Every second in which somebody reads, the primary is asked for its position. What it wrote up to there was written
    after the time of asking before, so the lag is told too long rather than too short.

    Attributes:
        lag: Seconds by which it lags at most, as it was found last; None where it does not answer or was never asked.
    """

    lag: float | None = None
    _samples: deque[tuple[float, int]] = field(default_factory=deque)
    _asked_at: float = float("-inf")
    _away_until: float = float("-inf")
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def sample(self) -> None:
        """Ask the primary for its position, where that was not done within the last second."""
        now = time.monotonic()
        with self._lock:
            before = self._asked_at
            if now - before < _SAMPLE_SECONDS:
                return
            self._asked_at = now
        position = int(execute(_PRIMARY_SQL, [])[0][0])
        with self._lock:
            self._samples.append((before, position))
            while len(self._samples) > 1 and self._samples[1][0] < now - 2 * settings.REPLICA_LAG_SECONDS:
                self._samples.popleft()

    def is_left_alone(self) -> bool:
        """Whether it did not answer a moment ago."""
        return time.monotonic() < self._away_until

    def leave_alone(self) -> None:
        """Note that it does not answer."""
        self.lag, self._away_until = None, time.monotonic() + LEFT_ALONE_SECONDS

    def is_current(self, replayed: int) -> bool:
        """Whether it lags no longer than the setting allows; notes the lag."""
        with self._lock:
            since = next((at for at, position in self._samples if position > replayed), None)
        self.lag = 0.0 if since is None else time.monotonic() - since
        return self.lag <= settings.REPLICA_LAG_SECONDS

    def answers(self) -> bool:
        """Ask both, whoever reads: whether the replica may be read now."""
        try:
            self.sample()
            return _replayed(0)[0] is not None
        except Error:
            return False


standing = Standing()


def read(work: Callable[[], T], *, shop_id: int, shop_version: int, seen: int, not_found: type[Exception]) -> T:
    """Do work that only reads, on the replica where that will do, else on the primary.

    It is done again on the primary where the replica fails it, and where it finds nothing: it may only be too early.

    Args:
        work: What to do; it finds the replica under the name of the primary.
        shop_id: The shop for which it is done.
        shop_version: The shop's version, by which what is made of its rows is kept.
        seen: The position up to which the caller knows what was written.
        not_found: How the work says that it finds nothing.
    """
    if standing.is_left_alone() or connections[DEFAULT_DB_ALIAS].in_atomic_block:
        return work()
    standing.sample()
    try:
        replayed, version = _replayed(shop_id)
    except Error:
        return work()
    if replayed is None or replayed < seen or version != shop_version:
        return work()
    try:
        with _in_place_of_the_primary():
            return work()
    except Exception as error:
        if not (isinstance(error, not_found) or is_outage(error)):
            raise
    return work()


def _replayed(shop_id: int) -> tuple[int | None, int | None]:
    """Up to where the replica may be read, None where it may not, and the version that it has of a shop.

    Raises:
        Error: It does not answer; it is left alone for a while.
    """
    here = connections[ALIAS]
    # This asks whether the connection lives.
    here.health_check_done = True  # type: ignore[attr-defined]
    try:
        with _in_place_of_the_primary():
            ((position, version),) = execute(_REPLICA_SQL, [shop_id])
    except Error:
        here.close()
        standing.leave_alone()
        raise
    return (position if position is not None and standing.is_current(position) else None), version


@contextmanager
def _in_place_of_the_primary() -> Iterator[None]:
    """Within it, this thread's queries go to the replica, whoever makes them: the ORM, or SQL text."""
    primary = connections[DEFAULT_DB_ALIAS]
    connections[DEFAULT_DB_ALIAS] = connections[ALIAS]
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = primary
