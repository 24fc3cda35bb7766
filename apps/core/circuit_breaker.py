"""A circuit breaker, so that requests never wait for a service that is down.

After a call has failed, all calls fail at once for a pause. After the pause, one thread tries again. The calls of other
threads fail at once until this attempt has succeeded.
"""

import threading
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class CircuitOpen(Exception):
    """Raised instead of calling a service that has just failed."""


class CircuitBreaker:
    """A circuit breaker for one service. Only ``failures`` start a pause; other exceptions propagate."""

    def __init__(self, pause_seconds: float, failures: tuple[type[Exception], ...] = (Exception,)) -> None:
        self._pause_seconds, self._failures = pause_seconds, failures
        # The end of the pause on the monotonic clock, or 0 if there is no pause.
        self._open_until = 0.0
        self._lock = threading.Lock()

    def call(self, function: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """Call the function of the service. Its exceptions are raised again.

        Raises:
            CircuitOpen: The service has just failed.
        """
        if self._open_until:
            self._claim_attempt()
        try:
            result = function(*args, **options)
        except self._failures:
            self._open_until = time.monotonic() + self._pause_seconds
            raise
        except Exception:
            self._open_until = 0.0
            raise
        self._open_until = 0.0
        return result

    def _claim_attempt(self) -> None:
        """Extend the pause before an attempt, so that no other thread tries at the same time."""
        with self._lock:
            if time.monotonic() < self._open_until:
                raise CircuitOpen
            if self._open_until:
                self._open_until = time.monotonic() + self._pause_seconds
