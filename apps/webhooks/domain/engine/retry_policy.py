"""The retry policy: pure functions that decide the next state of a delivery after an attempt."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

# Seconds before each retry, for eight retries within about four hours.
RETRY_SECONDS = (10, 40, 150, 480, 1200, 2400, 4200, 5920)
MAX_ATTEMPTS = 1 + len(RETRY_SECONDS)
WINDOW_SECONDS = sum(RETRY_SECONDS)
JITTER = 0.2
# A response with this status ends a delivery without retries.
HTTP_GONE = 410
# Responses with these statuses may set ``Retry-After``.
_MAY_WAIT = frozenset({408, 425, 429, *range(500, 600)})
# A delivery gets an extra attempt if its worker died. This limit stops deliveries that crash every worker.
MAX_STARTED_ATTEMPTS = 2 * MAX_ATTEMPTS


@dataclass(frozen=True, slots=True)
class Verdict:
    """The next state (``done``, ``retry`` or ``dead``) after an attempt, and the seconds until the next attempt.

    ``error`` is the class of the failure. ``is_gone`` is True if the response was 410.
    """

    state: str
    delay: float = 0.0
    error: str = ""
    is_gone: bool = False


DONE = Verdict("done")


def judge_response(status: int, headers: Mapping[str, str], attempt: int) -> Verdict:
    """Return the next state of a delivery after a response to an attempt. A redirect counts as a failure."""
    if 200 <= status < 300:
        return DONE
    error = f"status_{status}"
    if status == HTTP_GONE:
        return Verdict("dead", error=error, is_gone=True)
    wait = parse_retry_after(headers.get("Retry-After", "")) if status in _MAY_WAIT else 0.0
    return judge_failure(error, attempt, at_least=wait)


def judge_failure(error: str, attempt: int, *, at_least: float = 0.0) -> Verdict:
    """Return the next state of a delivery after an attempt failed. The first ``attempt`` has the number 1.

    ``at_least`` is the wait in seconds that the endpoint requested. It is limited to the remaining retry window.
    """
    if attempt >= MAX_ATTEMPTS:
        return Verdict("dead", error=error)
    # Random variation spreads the retries of deliveries that failed together.
    planned = RETRY_SECONDS[attempt - 1] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - no secret
    remaining_window = sum(RETRY_SECONDS[attempt - 1 :])
    return Verdict("retry", max(planned, min(at_least, remaining_window)), error)


def parse_retry_after(text: str) -> float:
    """Return the seconds to wait from a ``Retry-After`` header (a number or date), or 0 if the header is invalid."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(int(text[:9]))
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0.0
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
