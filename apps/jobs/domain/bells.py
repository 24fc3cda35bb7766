"""Ringing a broker that may be away, without keeping anybody waiting who has something to write.

A broker that does not take a bell is left alone for ``QUIET_SECONDS``: in that time bells are not rung, and the sweep
finds the jobs. Then one thread asks it again; the others go on without a bell until it has answered.
Rule: reliability, F2.
"""

import time
import uuid
from collections.abc import Callable

QUIET_SECONDS = 5.0


class BrokerAway(Exception):
    """The broker did not take a bell a moment ago, and was not asked."""


class PatientBell:
    """Rings through ``ring``, as long as that works."""

    def __init__(self, ring: Callable[..., None]) -> None:
        self._ring = ring
        # Of the monotonic clock; 0 while the broker takes bells.
        self._quiet_until = 0.0

    def __call__(self, *keys: uuid.UUID) -> None:
        """Ring once for the jobs with these keys.

        Raises:
            BrokerAway: It was away a moment ago.
            Exception: It is away; whatever its client raises.
        """
        if self._quiet_until:
            if time.monotonic() < self._quiet_until:
                raise BrokerAway
            # Who asks keeps the others from asking.
            self._quiet_until = time.monotonic() + QUIET_SECONDS
        try:
            self._ring(*keys)
        except Exception:
            self._quiet_until = time.monotonic() + QUIET_SECONDS
            raise
        self._quiet_until = 0.0
