"""What follows from an attempt: done, another one later, or nothing more. Pure rules; the dispatcher carries them out.

Rule: design of webhooks, "Outcomes, retries, disabling".
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

# Seconds before each further attempt: eight of them, within four hours.
RETRY_SECONDS = (10, 40, 150, 480, 1200, 2400, 4200, 5920)
MAX_ATTEMPTS = 1 + len(RETRY_SECONDS)
WINDOW_SECONDS = sum(RETRY_SECONDS)
JITTER = 0.2
# What ends a delivery at once: the receiver says that it is gone for good.
GONE = 410
# Answers that may say when to come again.
_MAY_WAIT = frozenset({408, 425, 429, *range(500, 600)})
# A worker that dies gives its deliveries back; one that dies of them must not do so for ever.
MAX_BEGUN = 2 * MAX_ATTEMPTS


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a delivery.

    Attributes:
        state: ``done``, ``retry`` or ``dead``.
        delay: Seconds to the next attempt.
        error: The class of the failure; blank for a success.
        is_gone: Whether the receiver wants no more of its subscription.
    """

    state: str
    delay: float = 0.0
    error: str = ""
    is_gone: bool = False


DONE = Verdict("done")


def judge_answer(status: int, headers: Mapping[str, str], attempt: int) -> Verdict:
    """What an answer means for a delivery after its n-th attempt; a redirect is a failure like any other."""
    if 200 <= status < 300:
        return DONE
    error = f"status_{status}"
    if status == GONE:
        return Verdict("dead", error=error, is_gone=True)
    wait = retry_after(headers.get("Retry-After", "")) if status in _MAY_WAIT else 0.0
    return judge_failure(error, attempt, at_least=wait)


def judge_failure(error: str, attempt: int, *, at_least: float = 0.0) -> Verdict:
    """What a failure means for a delivery after its n-th attempt.

    Args:
        error: Its class.
        attempt: Counted from 1.
        at_least: The seconds that the receiver asked us to wait, at most what is left of the window.
    """
    if attempt >= MAX_ATTEMPTS:
        return Verdict("dead", error=error)
    # Jitter keeps what failed together from coming back together.
    planned = RETRY_SECONDS[attempt - 1] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - no secret
    left = sum(RETRY_SECONDS[attempt - 1 :])
    return Verdict("retry", max(planned, min(at_least, left)), error)


def retry_after(text: str) -> float:
    """The seconds that a ``Retry-After`` asks for: a number or a date; nothing for all else."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(int(text[:9]))
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0.0
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
