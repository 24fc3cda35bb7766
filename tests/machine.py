"""Timing for tests: time limits that depend on the load of the machine, and the length of soak tests."""

import os
import time
from collections.abc import Callable
from typing import Any


def scale_for_soak(full_size: float) -> int:
    """Return the share ``SOAK_SHARE`` of a number that a rule sets for minutes or hours; at least 1."""
    return max(1, round(full_size * float(os.environ.get("SOAK_SHARE", "1"))))


def get_time_limit(seconds: float) -> float:
    """Return a time limit in seconds: ``seconds`` on an idle machine, more if its processors are busy."""
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def wait_until(poll: Callable[[], Any], holds: Callable[[Any], bool], *, seconds: float = 10.0) -> Any:
    """Poll ``ask`` until ``holds`` accepts the result and return it; fail after ``seconds`` on an idle machine."""
    end = time.monotonic() + get_time_limit(seconds)
    while not holds(value := poll()):
        assert time.monotonic() < end, f"still {value!r}"
        time.sleep(0.01)
    return value
