"""The deadlocks of a run, as PostgreSQL itself counts them: those that tests announce, and no others.

A test that provokes deadlocks says how many by the mark ``@pytest.mark.deadlocks(count)``.
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
    """What this process's database has counted, against what its tests have announced."""

    def __init__(self) -> None:
        """Begin with what an older run has left in a database that is used again."""
        self.before = counted()
        self.announced = 0

    def announce(self, test: pytest.Item) -> None:
        """Take note of what a test is about to provoke."""
        if mark := test.get_closest_marker("deadlocks"):
            self.announced += mark.args[0]

    def check(self) -> None:
        """Fail where there were more, or fewer, than announced."""
        found = counted() - self.before
        if found != self.announced:
            name = connection.settings_dict["NAME"]
            pytest.fail(
                f"PostgreSQL counted {found} deadlocks in {name} and the tests of this process announced "
                f"{self.announced}. Its log has their statements (“deadlock detected”): design them away, or give the "
                "test that provokes them the mark “deadlocks”.",
                pytrace=False,
            )


def counted() -> int:
    """How many deadlocks there were in the database.

    A connection tells at its end at the latest, so this closes those of the thread and waits for all others to end.
    """
    connections.close_all()
    until = time.monotonic() + WAIT_SECONDS
    with connection.cursor() as cursor:
        while cursor.execute(_CONNECTED).fetchone()[0] and time.monotonic() < until:
            time.sleep(0.02)
        found: int = cursor.execute(_COUNTED).fetchone()[0]
    return found
