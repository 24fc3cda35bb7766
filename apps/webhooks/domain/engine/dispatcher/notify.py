"""Notify workers of new events: send the Celery task ``webhooks.deliver`` after the commit.

Each process sends at most one message per ``MIN_INTERVAL_SECONDS``. No event waits because of this limit: a message
that was sent after an earlier event leads to a run that processes the earlier event. This run looks for more events for
at least ``LINGER_SECONDS`` after it found the earlier event, and it found the event after its commit. The interval is
half as long and starts before the commit, so the run also finds all events that were committed within the interval.
A run that ends earlier, because its time is over, sends a message itself.

If the broker loses a message or is down, the scheduler's next message starts a run.
"""

import time
from functools import partial

from django.db import transaction

from apps.core.jobs.publishing import publish

DELIVER = "webhooks.deliver"
# A run ends if it has found no work for this many seconds.
LINGER_SECONDS = 1.0
MIN_INTERVAL_SECONDS = LINGER_SECONDS / 2
# The scheduler sends a message each time this many seconds have passed.
SCHEDULE_SECONDS = 10
_covered_until = 0.0
_next_delayed_at = 0.0


def notify_after_commit() -> None:
    """Notify workers after the current transaction commits."""
    transaction.on_commit(partial(_notify, time.monotonic()), robust=True)


def _notify(noted_at: float) -> None:
    global _covered_until
    if time.monotonic() < _covered_until:
        return
    _covered_until = noted_at + MIN_INTERVAL_SECONDS
    if not send_message():
        _covered_until = 0.0


def send_message() -> bool:
    """Ask for a run now. Return False if the broker is down."""
    return publish(DELIVER)


def send_delayed_message(seconds: float) -> None:
    """Ask for a run when the next delivery may start, unless this process has already asked for an earlier run.

    The scheduler's messages are enough for later deliveries.
    """
    global _next_delayed_at
    now = time.monotonic()
    if seconds > SCHEDULE_SECONDS or now < _next_delayed_at <= now + seconds + 0.1:
        return
    _next_delayed_at = now + seconds
    publish(DELIVER, countdown=seconds)
