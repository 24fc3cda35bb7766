"""Leaving a server alone that does not answer: one breaker for each host, in each process.

It opens after five failures to connect or to answer in a row, or where half of at least twenty calls of a minute
failed. While it is open nothing is sent and no attempt is used up. Then one call tries the host: a success closes the
breaker, a failure opens it for twice as long.
"""

import random
from collections import deque
from dataclasses import dataclass, field

IN_A_ROW = 5
SAMPLE = 20
SHARE = 0.5
WINDOW_SECONDS = 60.0
FIRST_PAUSE = 10.0
LONGEST_PAUSE = 600.0
JITTER = 0.2


@dataclass(slots=True)
class Breaker:
    """The breaker of one host. Times are seconds of the monotonic clock.

    Attributes:
        trips: How often it opened since the last success.
        opens_until: Until when nothing is sent.
        is_probing: Whether the one call that tries the host is under way.
    """

    trips: int = 0
    opens_until: float = 0.0
    is_probing: bool = False
    _in_a_row: int = 0
    _calls: deque[tuple[float, bool]] = field(default_factory=deque)
    _failed: int = 0

    def room(self, now: float) -> int | None:
        """How many calls may begin; None for as many as one likes."""
        if not self.trips:
            return None
        return 0 if now < self.opens_until or self.is_probing else 1

    def begin(self) -> None:
        """A call begins; where the breaker had opened, it is the one that tries the host."""
        self.is_probing = self.trips > 0

    def succeeded(self, now: float) -> bool:
        """The host answered; returns whether that closed the breaker."""
        self._note(now, failed=False)
        self._in_a_row, self.is_probing = 0, False
        if not self.trips:
            return False
        self.trips, self.opens_until = 0, 0.0
        self._calls.clear()
        self._failed = 0
        return True

    def failed(self, now: float, *, silent: bool) -> bool:
        """A call failed; returns whether that opened the breaker.

        Args:
            now: When.
            silent: Whether there was no answer at all, rather than one that says that the server has a problem.
        """
        self._note(now, failed=True)
        self._in_a_row = self._in_a_row + 1 if silent else 0
        was_probe, self.is_probing = self.is_probing, False
        if now < self.opens_until:
            return False
        often = len(self._calls) >= SAMPLE and self._failed >= SHARE * len(self._calls)
        if not (was_probe or self._in_a_row >= IN_A_ROW or often):
            return False
        self.trip(now)
        return True

    def trip(self, now: float) -> None:
        """Open it, for twice as long as the last time."""
        pause = min(FIRST_PAUSE * 2**self.trips, LONGEST_PAUSE) * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311
        self.trips = min(self.trips + 1, 16)
        self.opens_until = now + pause
        self._in_a_row = 0

    def learn(self, trips: int, pause: float, now: float) -> None:
        """Take over what another process found out."""
        if trips > self.trips or (trips and now + pause > self.opens_until + 1):
            self.trips, self.opens_until = trips, now + pause

    def _note(self, now: float, *, failed: bool) -> None:
        self._calls.append((now, failed))
        self._failed += failed
        while self._calls and self._calls[0][0] < now - WINDOW_SECONDS:
            self._failed -= self._calls.popleft()[1]
