"""How long each thread has waited for its database."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.backends.signals import connection_created


@dataclass
class Spent(threading.local):
    """Of this thread, since its start: seconds in exchanges with the database, and their number.

    On PostgreSQL an exchange is whatever waits for the server, commits too; on SQLite it is a statement or a commit.
    """

    seconds: float = 0.0
    exchanges: int = 0


spent = Spent()


def measure() -> None:
    """From now on, new connections of this process count into ``spent``."""
    connection_created.connect(_measure, dispatch_uid="metrics")


def _measure(sender: Any, connection: Any, **_: Any) -> None:
    if connection.vendor == "postgresql":
        connection.connection.wait = _timed(connection.connection.wait)
    elif _statement not in connection.execute_wrappers:
        connection.execute_wrappers.append(_statement)
        connection._commit = _timed(connection._commit)


def _timed(call: Callable[..., Any]) -> Callable[..., Any]:
    def timed(*args: Any, **kwargs: Any) -> Any:
        began = time.perf_counter()
        try:
            return call(*args, **kwargs)
        finally:
            spent.seconds += time.perf_counter() - began
            spent.exchanges += 1

    return timed


def _statement(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
    return _timed(execute)(sql, params, many, context)
