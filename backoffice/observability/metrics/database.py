"""Measure the time that each thread spends waiting for the database."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.backends.signals import connection_created


@dataclass
class DatabaseTime(threading.local):
    """The number of database round trips of the current thread, and the seconds spent waiting for their results.

    On PostgreSQL, each wait for the server counts as a round trip, including commits. On SQLite, each statement and
    each commit counts as a round trip.
    """

    seconds: float = 0.0
    exchanges: int = 0


database_time = DatabaseTime()


def enable_measuring() -> None:
    """Measure all database connections that this process opens from now on."""
    connection_created.connect(_measure_connection, dispatch_uid="metrics")


def _measure_connection(sender: Any, connection: Any, **_: Any) -> None:
    if connection.vendor == "postgresql":
        connection.connection.wait = _measure_time(connection.connection.wait)
    elif _time_statement not in connection.execute_wrappers:
        connection.execute_wrappers.append(_time_statement)
        connection._commit = _measure_time(connection._commit)


def _measure_time(call: Callable[..., Any]) -> Callable[..., Any]:
    def timed(*args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter()
        try:
            return call(*args, **kwargs)
        finally:
            database_time.seconds += time.perf_counter() - start
            database_time.exchanges += 1

    return timed


def _time_statement(execute: Callable[..., Any], *arguments: Any) -> Any:
    return _measure_time(execute)(*arguments)
