"""Detect connection pooling, and limit how long a process waits for PostgreSQL.

A pooler may assign another database session after each transaction.

Normally, the server enforces ``statement_timeout``. If a network device or proxy acknowledges packets but never
responds, neither the server's timeout nor TCP keepalives help. So the client has its own timeout, which is slightly
longer.
"""

from collections.abc import Generator
from typing import Any, TypeVar

import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.signals import connection_created


def uses_transaction_pooling(alias: str = DEFAULT_DB_ALIAS) -> bool:
    """Return True if a pooler may assign another session after each transaction.

    Session state (``SET``, ``LISTEN``) is then lost after a transaction, and leaks to other clients of the pooler.
    """
    return bool(connections[alias].settings_dict.get("DISABLE_SERVER_SIDE_CURSORS"))


T = TypeVar("T")

# Wait this many seconds longer than the server, so that the server's timeout error can arrive.
GRACE_SECONDS = 5.0


def limit_database_waits() -> None:
    """Close this process's connections to PostgreSQL if a statement gets no response in time."""
    if settings.STATEMENT_SECONDS:
        connection_created.connect(_limit_new_connection)


def _limit_new_connection(sender: Any, connection: Any, **_: Any) -> None:
    if connection.vendor == "postgresql":
        limit_wait(connection.connection, settings.STATEMENT_SECONDS + GRACE_SECONDS)


def limit_wait(connection: "psycopg.Connection[Any]", seconds: float) -> None:
    """Limit the time that a connection waits for a response.

    After a timeout, the connection is closed because its state is unknown, and the caller gets an ``OperationalError``.
    """
    wait = connection.wait

    def wait_for_so_long(gen: Generator[Any, Any, T], interval: float = 0.1, timeout: float | None = None) -> T:
        if timeout is not None:
            return wait(gen, interval, timeout)
        try:
            return wait(gen, interval, seconds)
        except psycopg.errors._WaitTimeout as error:
            connection.pgconn.finish()
            raise psycopg.OperationalError(f"the database did not respond within {seconds:g} seconds") from error

    connection.wait = wait_for_so_long  # type: ignore[method-assign]
