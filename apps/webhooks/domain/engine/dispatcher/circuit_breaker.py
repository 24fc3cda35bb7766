"""Circuit breakers, one per host and process, that pause calls to a failing server.

A breaker opens after five connection failures or timeouts in a row. It also opens if a host gets at least twenty calls
within a minute and at least half of these calls fail. While the breaker is open, no requests are sent and no attempts
are counted. Then a single call probes the host. A success closes the breaker. A failure opens the breaker for twice as
long as before.
"""

import random
from collections import deque
from dataclasses import dataclass, field

MAX_FAILURES_IN_A_ROW = 5
MIN_SAMPLE = 20
MAX_FAILURE_SHARE = 0.5
WINDOW_SECONDS = 60.0
FIRST_PAUSE = 10.0
LONGEST_PAUSE = 600.0
JITTER = 0.2


@dataclass(slots=True)
class CircuitBreaker:
    """The circuit breaker of a host. Times are seconds of the monotonic clock.

    ``trips`` is how often the breaker has opened since the last success. Until ``open_until``, no calls start.
    """

    trips: int = 0
    open_until: float = 0.0
    is_probing: bool = False
    _failures_in_a_row: int = 0
    _calls: deque[tuple[float, bool]] = field(default_factory=deque)
    _failed: int = 0

    def get_free_calls(self, now: float) -> int | None:
        """Return the number of calls that may start, or None for no limit."""
        return int(now >= self.open_until and not self.is_probing) if self.trips else None

    def record_start(self) -> None:
        """Record the start of a call. If the breaker was open, this call is the probe."""
        self.is_probing = self.trips > 0

    def record_success(self, now: float) -> bool:
        """Record a response, and return True if it closed the breaker."""
        self._note(now, failed=False)
        self._failures_in_a_row, self.is_probing = 0, False
        if not self.trips:
            return False
        self.trips, self.open_until, self._failed = 0, 0.0, 0
        self._calls.clear()
        return True

    def record_failure(self, now: float, *, silent: bool) -> bool:
        """Record a server error, or a missing response (``silent``). Return True if it opened the breaker."""
        self._note(now, failed=True)
        self._failures_in_a_row = self._failures_in_a_row + 1 if silent else 0
        was_probe, self.is_probing = self.is_probing, False
        if now < self.open_until:
            return False
        fails_often = len(self._calls) >= MIN_SAMPLE and self._failed >= MAX_FAILURE_SHARE * len(self._calls)
        if not (was_probe or self._failures_in_a_row >= MAX_FAILURES_IN_A_ROW or fails_often):
            return False
        self.trip(now)
        return True

    def trip(self, now: float) -> None:
        """Open the breaker for about twice as long as the previous time."""
        pause = min(FIRST_PAUSE * 2**self.trips, LONGEST_PAUSE) * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311
        self.trips = min(self.trips + 1, 16)
        self.open_until = now + pause
        self._failures_in_a_row = 0

    def adopt_state(self, trips: int, pause: float, now: float) -> None:
        """Adopt the state of another process's breaker if that breaker opened more often or stays open longer."""
        if trips > self.trips or (trips and now + pause > self.open_until + 1):
            self.trips, self.open_until = trips, now + pause

    def _note(self, now: float, *, failed: bool) -> None:
        self._calls.append((now, failed))
        self._failed += failed
        while self._calls and self._calls[0][0] < now - WINDOW_SECONDS:
            self._failed -= self._calls.popleft()[1]
