"""A fair queue of requests, in which slow or frequent requests of one owner do not block other owners.

Each request has an owner (``Door.owner``), which may be None. The next request comes from the owner with the fewest
running requests. Owners with the same number of running requests take turns. While several owners are active, an owner
can use at most three quarters of the threads. If an owner occupies half of the queue, new requests of this owner are
rejected. A single active owner can use all threads and the whole queue. Requests with the owner None share the limits
of one owner, but this owner never counts as active. All limits apply per process.
"""

import threading
import time
from collections import Counter, deque
from collections.abc import Hashable
from queue import SimpleQueue
from typing import Generic, Protocol, TypeVar

# After two consecutive requests from different owners, the queue assumes for this many seconds that several owners are
# active.
SEVERAL_SECONDS = 60.0


class Owned(Protocol):
    """A request with an owner."""

    @property
    def owner(self) -> Hashable:
        """Return the key of the owner, which is the same for all of the owner's requests."""


T = TypeVar("T", bound=Owned)


class FairQueue(Generic[T]):
    """A queue that groups requests by owner and counts the running requests of each owner.

    The inner queue contains one wake-up per request. The thread that receives a wake-up picks the next request. If
    every waiting owner already uses its share of the threads, the wake-up is sent again after a running request is
    done.
    """

    def __init__(self, threads: int, places: int) -> None:
        self._lock = threading.Lock()
        self._bells: SimpleQueue[bool] = SimpleQueue()
        # The waiting requests by owner, in the order in which owners are served.
        self._waiting: dict[Hashable, deque[T]] = {}
        self._working: Counter[Hashable] = Counter()
        self._unheard = 0
        self._threads, self._share = threads, threads - max(1, threads // 4) if threads > 1 else 1
        self._places = places
        self._last: Hashable = None
        self._several_until = 0.0

    def takes(self, owner: Hashable) -> bool:
        """Mark the owner as active. Return True if the queue has room for another request of this owner."""
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
        """Wait for the next request and count it as running. Return None to stop the thread after ``end``."""
        while True:
            goes_on = self._bells.get()
            with self._lock:
                # After ``end``, an owner may use all threads.
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
        """Remove the next owner from the order, and return the owner's waiting requests.

        Return None if every waiting owner already has at least ``fewest`` running requests.
        """
        best_owner = None
        for owner in self._waiting:
            if self._working[owner] < fewest:
                best_owner, fewest = (owner,), self._working[owner]
        return self._waiting.pop(best_owner[0]) if best_owner else None

    def done(self, item: T) -> None:
        """Count a request as finished, and send missed wake-ups again."""
        with self._lock:
            self._working[item.owner] -= 1
            if not self._working[item.owner]:
                del self._working[item.owner]
            missed_wakeups, self._unheard = self._unheard, 0
        for _ in range(missed_wakeups):
            self._bells.put(True)

    def end(self, threads: int) -> None:
        """Stop this many threads after all queued requests have been processed."""
        for _ in range(threads):
            self._bells.put(False)
