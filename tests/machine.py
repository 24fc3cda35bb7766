"""What a test may expect of the machine it runs on, and how long one that looks for rare things goes on."""

import os
import time
from collections.abc import Callable
from typing import Any


def soaked(whole: float) -> int:
    """So much of what a rule asks for over minutes or hours: the share that ``SOAK_SHARE`` says; at least 1."""
    return max(1, round(whole * float(os.environ.get("SOAK_SHARE", "1"))))


def patience(seconds: float) -> float:
    """So many seconds of an idle machine, and in proportion more of one whose processors have a queue."""
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def until(ask: Callable[[], Any], holds: Callable[[Any], bool], *, seconds: float = 10.0) -> Any:
    """What is asked for, once it is as it shall be; so many seconds of an idle machine are waited for it."""
    end = time.monotonic() + patience(seconds)
    while not holds(found := ask()):
        assert time.monotonic() < end, f"still {found!r}"
        time.sleep(0.01)
    return found
