"""Deliver webhooks in a worker process: the Celery task ``webhooks.deliver`` calls ``deliver``.

A run lasts at most ``RUN_SECONDS`` and ends earlier if there is no more work. A run that ends with work left sends a
message for the next run. Messages may be lost, late or duplicate, because the scheduler sends a message every few
seconds, and a message without work costs one statement.
"""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import uvloop

from apps.core.db.transient_errors import is_transient_db_error
from apps.core.jobs.worker_shutdown import is_shutting_down
from apps.webhooks.domain.engine.dispatcher import notify, run_leases
from apps.webhooks.domain.engine.dispatcher.db_threads import DatabaseThreads
from apps.webhooks.domain.engine.dispatcher.dispatcher import Dispatcher
from apps.webhooks.domain.engine.dispatcher.endpoint_slots import SLOTS

logger = logging.getLogger(__name__)

RUN_SECONDS = 25.0


def deliver() -> None:
    """Deliver webhooks until there is no more work, the time is over or the worker shuts down."""
    _get_runner().run(time.monotonic() + RUN_SECONDS, is_shutting_down)


@cache
def _get_runner() -> "Runner":
    """Return the runner of this worker process. Its database connections stay open between runs."""
    return Runner()


class Runner:
    def __init__(self, slots: int = SLOTS) -> None:
        self._slots = slots
        self._threads = DatabaseThreads("claim", "tell", "write")

    def run(self, ends_at: float, must_stop: Callable[[], bool]) -> None:
        """Deliver until the monotonic time ``ends_at``. If the database is down, wait for the next message."""
        try:
            while self._run_once(ends_at, must_stop):
                pass
        except Exception as error:
            if not is_transient_db_error(error):
                raise
            logger.warning("Webhooks are delivered later, because the database is not available: %s", error)

    def close(self) -> None:
        self._threads.shut_down()

    def _run_once(self, ends_at: float, must_stop: Callable[[], bool]) -> bool:
        """Do all work that is due. Return True if a message asked for another run in the meantime."""
        seconds = self._get_seconds_until_work()
        if seconds is None:
            return False
        if seconds > 0:
            notify.send_delayed_message(seconds)
            return False
        lease = self._threads.call("claim", run_leases.acquire_run_lease)
        if lease is None:
            return False
        dispatcher = Dispatcher(self._threads, lease, slots=self._slots, ends_at=ends_at, must_stop=must_stop)
        is_wanted = False
        try:
            with _switch_threads_often():
                uvloop.run(dispatcher.run())
        finally:
            is_wanted = self._threads.call("claim", run_leases.release_run_lease, lease)
        if dispatcher.was_cut_short:
            notify.send_message()
            return False
        if (seconds := dispatcher.get_seconds_until_due()) is not None:
            notify.send_delayed_message(seconds)
        return is_wanted

    def _get_seconds_until_work(self) -> float | None:
        try:
            return self._threads.call("claim", run_leases.get_seconds_until_work)
        except Exception as error:
            if not is_transient_db_error(error):
                raise
            # The database closed the connection since the last run. The thread opens a new connection.
            return self._threads.call("claim", run_leases.get_seconds_until_work)


@contextmanager
def _switch_threads_often() -> Iterator[None]:
    """Switch threads more often during a run, so that database threads do not delay the event loop."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(0.001)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
