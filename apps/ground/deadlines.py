"""How long a web process waits for a database that says nothing.

``statement_timeout`` is the server's to keep. Where the network, or what stands in it, acknowledges what we send and
never answers, nobody keeps it, and keepalives find all well; so we keep one of our own, a little later.
"""

from collections.abc import Generator
from typing import Any, TypeVar

import psycopg
from django.conf import settings
from django.db.backends.signals import connection_created

T = TypeVar("T")

# Seconds that the server's own refusal may take to arrive.
GRACE_SECONDS = 5.0


def keep_deadlines() -> None:
    """From now on this process hangs up on a PostgreSQL that has not answered a statement in time."""
    if settings.STATEMENT_SECONDS:
        connection_created.connect(_keep)


def _keep(sender: Any, connection: Any, **_: Any) -> None:
    if connection.vendor == "postgresql":
        limit(connection.connection, settings.STATEMENT_SECONDS + GRACE_SECONDS)


def limit(connection: "psycopg.Connection[Any]", seconds: float) -> None:
    """Let no exchange with the server take longer.

    What waits then gets an ``OperationalError``, and the connection is closed: what it would still say is unknown.
    """
    wait = connection.wait

    def wait_for_so_long(gen: Generator[Any, Any, T], interval: float = 0.1, timeout: float | None = None) -> T:
        if timeout is not None:
            return wait(gen, interval, timeout)
        try:
            return wait(gen, interval, seconds)
        except psycopg.errors._WaitTimeout as error:
            connection.pgconn.finish()
            raise psycopg.OperationalError(f"the database did not answer within {seconds:g} seconds") from error

    connection.wait = wait_for_so_long  # type: ignore[method-assign]
