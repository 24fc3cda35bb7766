"""Time limits that depend on the machine's load, and the size of soak tests."""

import os
import time
from collections.abc import Callable
from typing import TypeVar

import pytest

Value = TypeVar("Value")
SOAK_MARKS = [
    pytest.mark.soak,
    pytest.mark.postgres,
    pytest.mark.timeout(0),
    pytest.mark.django_db(transaction=True),
]


def scale_for_soak(full_size: float) -> int:
    """Return the full size of a soak test multiplied by ``SOAK_SHARE``, at least 1."""
    return max(1, round(full_size * float(os.environ.get("SOAK_SHARE", "1"))))


def get_time_limit(seconds: float) -> float:
    """Return a time limit of ``seconds`` on an idle machine, and more on a busy machine."""
    # The load average rises slowly, so the processes of this test run count from its start.
    load = max(os.getloadavg()[0], float(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))
    return seconds * max(1.0, load / (os.cpu_count() or 1))


def wait_until(poll: Callable[[], Value], holds: Callable[[Value], object], *, seconds: float = 60.0) -> Value:
    """Call ``poll`` until ``holds`` accepts the result, then return it; fail after ``get_time_limit(seconds)``."""
    end = time.monotonic() + get_time_limit(seconds)
    while not holds(value := poll()):
        assert time.monotonic() < end, f"still {value!r}"
        time.sleep(0.01)
    return value
