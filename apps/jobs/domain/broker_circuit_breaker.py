"""A circuit breaker for the broker, so that writers never wait for a broker that is down.

After a failed notification, no notifications are sent for ``OPEN_SECONDS``; the sweep finds the jobs. Then one thread
tries again, while the others continue without notifications until the try succeeds.
"""

import time
import uuid
from collections.abc import Callable

OPEN_SECONDS = 5.0


class BrokerUnavailable(Exception):
    """Raised without contacting the broker when the broker failed a moment ago."""


class BrokerCircuitBreaker:
    """A wrapper of a notifier that stops calling the broker for a while after a failure."""

    def __init__(self, notify: Callable[..., None]) -> None:
        self._notify = notify
        # The end of the pause by the monotonic clock, or 0 while the broker works.
        self._open_until = 0.0

    def __call__(self, *keys: uuid.UUID) -> None:
        """Notify the broker once about the jobs with these keys.

        Raises:
            BrokerUnavailable: The broker failed a moment ago.
            Exception: The exception of the broker's client, if the broker is down.
        """
        if self._open_until:
            if time.monotonic() < self._open_until:
                raise BrokerUnavailable
            # Extend the pause before trying, so that no other thread tries, too.
            self._open_until = time.monotonic() + OPEN_SECONDS
        try:
            self._notify(*keys)
        except Exception:
            self._open_until = time.monotonic() + OPEN_SECONDS
            raise
        self._open_until = 0.0
