"""A client-side timeout for PostgreSQL statements in web processes.

The server enforces ``statement_timeout``. If the network (or a proxy) acknowledges packets but never responds, neither
the server's timeout nor TCP keepalives help. So the client has its own, slightly longer timeout.
"""

from collections.abc import Generator
from typing import Any, TypeVar

import psycopg
from django.conf import settings
from django.db.backends.signals import connection_created

T = TypeVar("T")

# Extra seconds for the server's own timeout error to arrive.
GRACE_SECONDS = 5.0


def limit_database_waits() -> None:
    """Disconnect from PostgreSQL in this process if a statement gets no response in time."""
    if settings.STATEMENT_SECONDS:
        connection_created.connect(_limit_new_connection)


def _limit_new_connection(sender: Any, connection: Any, **_: Any) -> None:
    if connection.vendor == "postgresql":
        limit_wait(connection.connection, settings.STATEMENT_SECONDS + GRACE_SECONDS)


def limit_wait(connection: "psycopg.Connection[Any]", seconds: float) -> None:
    """Limit the duration of every exchange with the server.

    After a timeout the waiting code gets an ``OperationalError``, and the connection is closed, because its state
    is unknown.
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
