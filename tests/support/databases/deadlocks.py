"""Compare the deadlocks that PostgreSQL counted during a run with the number that tests announced.

A test that provokes deadlocks announces their number with the mark ``@pytest.mark.deadlocks(count)``.
"""

import time

import pytest
from django.db import connection, connections

_COUNTED = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
_CONNECTED = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend' AND pid != pg_backend_pid()
"""
WAIT_SECONDS = 10


class Deadlocks:
    def __init__(self) -> None:
        """Store the current count, because a reused database contains the deadlocks of earlier runs."""
        self.before = count_deadlocks()
        self.announced = 0

    def announce(self, test: pytest.Item) -> None:
        """Add the deadlocks that a test announces."""
        if mark := test.get_closest_marker("deadlocks"):
            self.announced += mark.args[0]

    def check(self) -> None:
        """Fail if there were more or fewer deadlocks than announced."""
        new_deadlocks = count_deadlocks() - self.before
        if new_deadlocks != self.announced:
            name = connection.settings_dict["NAME"]
            pytest.fail(
                f"PostgreSQL counted {new_deadlocks} deadlocks in {name} and the tests of this process announced "
                f"{self.announced}. Its log has their statements (“deadlock detected”): design them away, or give the "
                "test that provokes them the mark “deadlocks”.",
                pytrace=False,
            )


def count_deadlocks() -> int:
    """Return the number of deadlocks counted in the database.

    PostgreSQL may report a connection's statistics only when the connection is closed. So this function closes the
    thread's connections and waits until all other connections are closed.
    """
    connections.close_all()
    until = time.monotonic() + WAIT_SECONDS
    with connection.cursor() as cursor:
        while cursor.execute(_CONNECTED).fetchone()[0] and time.monotonic() < until:
            time.sleep(0.02)
        return cursor.execute(_COUNTED).fetchone()[0]
