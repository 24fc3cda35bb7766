"""A circuit breaker for the broker, so that writers never wait for a broker that is down.

After a message could not be sent, no messages are sent for ``OPEN_SECONDS``. Periodic tasks later find the work that is
not sent during this pause. After the pause, one thread sends a message. Other threads send no messages until this
attempt succeeds.
"""

import time
from collections.abc import Callable
from typing import Any

OPEN_SECONDS = 5.0


class BrokerUnavailable(Exception):
    """Raised instead of contacting a broker that has just failed."""


class BrokerCircuitBreaker:
    def __init__(self, send: Callable[..., None]) -> None:
        self._send = send
        # The end of the pause on the monotonic clock, or 0 if there is no pause.
        self._open_until = 0.0

    def __call__(self, name: str, **options: Any) -> None:
        """Send a message for the task ``name``. An exception of the broker's client is raised again.

        Raises:
            BrokerUnavailable: The broker has just failed.
        """
        if self._open_until:
            if time.monotonic() < self._open_until:
                raise BrokerUnavailable
            # Extend the pause first, so that no other thread tries at the same time.
            self._open_until = time.monotonic() + OPEN_SECONDS
        try:
            self._send(name, **options)
        except Exception:
            self._open_until = time.monotonic() + OPEN_SECONDS
            raise
        self._open_until = 0.0
