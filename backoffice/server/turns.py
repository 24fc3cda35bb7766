"""Fair queue of requests: slow or frequent requests of one owner do not block those of others.

Each request has an owner (``Door.owner``). The next request is one of the owner with the fewest running requests; ties
go in turn. While several owners are active, a quarter of the threads (at least one) is reserved for owners other than
the busiest, and one owner may occupy at most half of the queue; further requests of this owner are rejected. A single
owner can use everything. Requests without an owner (None) take turns like the others, but do not count as an active
owner. All limits apply to one process.
"""

import threading
import time
from collections import Counter, deque
from collections.abc import Hashable
from queue import SimpleQueue
from typing import Generic, Protocol, TypeVar

# For this many seconds after requests of two different owners, several owners count as active.
SEVERAL_SECONDS = 60.0


class Owned(Protocol):
    """A request with an owner."""

    @property
    def owner(self) -> Hashable:
        """Return a key that is equal for all requests of an owner."""


T = TypeVar("T", bound=Owned)


class FairQueue(Generic[T]):
    """Queued requests by owner, and the number of running requests per owner.

    The inner queue holds a wake-up for each request; the thread that receives a wake-up picks the next request. If
    every waiting owner already uses its share of threads, the wake-up is sent again when a running request is done.
    """

    def __init__(self, threads: int, places: int) -> None:
        self._lock = threading.Lock()
        self._bells: SimpleQueue[bool] = SimpleQueue()
        # Waiting requests by owner, in the order in which the owners are served.
        self._waiting: dict[Hashable, deque[T]] = {}
        self._working: Counter[Hashable] = Counter()
        self._unheard = 0
        self._threads, self._share = threads, threads - max(1, threads // 4) if threads > 1 else 1
        self._places = places
        self._last: Hashable = None
        self._several_until = 0.0

    def takes(self, owner: Hashable) -> bool:
        """Return True if another request of the owner fits into the queue; the owner counts as active."""
        with self._lock:
            if owner is not None and owner != self._last:
                if self._last is not None:
                    self._several_until = time.monotonic() + SEVERAL_SECONDS
                self._last = owner
            return not self._several() or self._held(owner) * 2 < self._places

    def _held(self, owner: Hashable) -> int:
        return self._working[owner] + len(self._waiting.get(owner, ()))

    def _several(self) -> bool:
        return time.monotonic() < self._several_until

    def put(self, item: T) -> None:
        """Queue a request."""
        with self._lock:
            self._waiting.setdefault(item.owner, deque()).append(item)
        self._bells.put(True)

    def get(self) -> T | None:
        """Wait for the next request and count it as running; return None once the queue has ended."""
        while True:
            goes_on = self._bells.get()
            with self._lock:
                # At the end nothing is reserved.
                waiting = self._next(self._share if goes_on and self._several() else self._threads)
                if waiting is None and not goes_on:
                    return None
                if waiting is None:
                    self._unheard += 1
                    continue
                item = waiting.popleft()
                if waiting:
                    self._waiting[item.owner] = waiting
                self._working[item.owner] += 1
            if not goes_on:
                self._bells.put(False)
            return item

    def _next(self, fewest: int) -> deque[T] | None:
        """Take the next owner's requests out of the order; None if all owners run at least ``fewest`` requests."""
        best_owner = None
        for owner in self._waiting:
            if self._working[owner] < fewest:
                best_owner, fewest = (owner,), self._working[owner]
        return self._waiting.pop(best_owner[0]) if best_owner else None

    def done(self, item: T) -> None:
        """Count a request as no longer running."""
        with self._lock:
            self._working[item.owner] -= 1
            if not self._working[item.owner]:
                del self._working[item.owner]
            missed_wakeups, self._unheard = self._unheard, 0
        for _ in range(missed_wakeups):
            self._bells.put(True)

    def end(self, threads: int) -> None:
        """Let this many threads end after the queued requests."""
        for _ in range(threads):
            self._bells.put(False)
