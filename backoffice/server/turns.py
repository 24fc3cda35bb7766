"""Requests that wait for a thread, so that nobody's many or slow ones keep everybody else's waiting.

Each request is somebody's (``Door.whose``). Next is a request of who has the fewest in work, in turn where several
have as few. While several come, a quarter of the threads, at least one, is kept for others than whoever has all the
rest, and one may have half of the places at most: what is beyond them is refused. Who is alone has everything. What is
nobody's in particular (None) waits its turn like the others, and does not make several of one. All of this is within
one process.
"""

import threading
import time
from collections import Counter, deque
from collections.abc import Hashable
from queue import SimpleQueue
from typing import Generic, Protocol, TypeVar

# For so long after requests of two came one after the other, they count as several.
SEVERAL_SECONDS = 60.0


class Owned(Protocol):
    """A request of somebody's."""

    @property
    def whose(self) -> Hashable:
        """Equal for all of one."""


T = TypeVar("T", bound=Owned)


class FairQueue(Generic[T]):
    """What waits, by whose it is, and how much each has in work.

    The queue within holds a bell for each request; who hears one looks whose turn it is. Where all that wait have their
    share in work, the bell is rung again as soon as one of those is done.
    """

    def __init__(self, threads: int, places: int) -> None:
        self._lock = threading.Lock()
        self._bells: SimpleQueue[bool] = SimpleQueue()
        # In the order of their turns.
        self._waiting: dict[Hashable, deque[T]] = {}
        self._working: Counter[Hashable] = Counter()
        self._unheard = 0
        self._threads, self._share = threads, threads - max(1, threads // 4) if threads > 1 else 1
        self._places = places
        self._last: Hashable = None
        self._several_until = 0.0

    def takes(self, whose: Hashable) -> bool:
        """Whether there is a place for another request of theirs, which counts as having come."""
        with self._lock:
            if whose is not None and whose != self._last:
                if self._last is not None:
                    self._several_until = time.monotonic() + SEVERAL_SECONDS
                self._last = whose
            return not self._several() or self._held(whose) * 2 < self._places

    def _held(self, whose: Hashable) -> int:
        return self._working[whose] + len(self._waiting.get(whose, ()))

    def _several(self) -> bool:
        return time.monotonic() < self._several_until

    def put(self, item: T) -> None:
        """Let a request wait for its turn."""
        with self._lock:
            self._waiting.setdefault(item.whose, deque()).append(item)
        self._bells.put(True)

    def get(self) -> T | None:
        """Wait for a request whose turn it is, and count it as in work; None once the queue has ended."""
        while True:
            goes_on = self._bells.get()
            with self._lock:
                # At the end nothing is kept for anybody.
                waiting = self._next(self._share if goes_on and self._several() else self._threads)
                if waiting is None and not goes_on:
                    return None
                if waiting is None:
                    self._unheard += 1
                    continue
                item = waiting.popleft()
                if waiting:
                    self._waiting[item.whose] = waiting
                self._working[item.whose] += 1
            if not goes_on:
                self._bells.put(False)
            return item

    def _next(self, fewest: int) -> deque[T] | None:
        """What waits of whose turn it is, taken out of the order; None where all have so many in work."""
        found = None
        for whose in self._waiting:
            if self._working[whose] < fewest:
                found, fewest = (whose,), self._working[whose]
        return self._waiting.pop(found[0]) if found else None

    def done(self, item: T) -> None:
        """A request that ``get`` gave is not in work any more."""
        with self._lock:
            self._working[item.whose] -= 1
            if not self._working[item.whose]:
                del self._working[item.whose]
            again, self._unheard = self._unheard, 0
        for _ in range(again):
            self._bells.put(True)

    def end(self, threads: int) -> None:
        """Let so many threads find the end, behind what waits."""
        for _ in range(threads):
            self._bells.put(False)
