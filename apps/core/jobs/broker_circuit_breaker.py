"""A circuit breaker for the broker, so that writers never wait for a broker that is down.

After a failed notification, no notifications are sent for ``OPEN_SECONDS``. The sweep finds the jobs that are enqueued
during this pause. After the pause, one thread sends a notification. Other threads send no notifications until this
attempt succeeds.
"""

import time
import uuid
from collections.abc import Callable

OPEN_SECONDS = 5.0


class BrokerUnavailable(Exception):
    """Raised instead of contacting a broker that has just failed."""


class BrokerCircuitBreaker:
    def __init__(self, notify: Callable[..., None]) -> None:
        self._notify = notify
        # The end of the pause on the monotonic clock, or 0 if there is no pause.
        self._open_until = 0.0

    def __call__(self, *keys: uuid.UUID) -> None:
        """Notify the broker once about the jobs with these keys. An exception of the broker's client is raised again.

        Raises:
            BrokerUnavailable: The broker has just failed.
        """
        if self._open_until:
            if time.monotonic() < self._open_until:
                raise BrokerUnavailable
            # Extend the pause first, so that no other thread tries at the same time.
            self._open_until = time.monotonic() + OPEN_SECONDS
        try:
            self._notify(*keys)
        except Exception:
            self._open_until = time.monotonic() + OPEN_SECONDS
            raise
        self._open_until = 0.0
