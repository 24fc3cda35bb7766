"""``migrate`` that never makes the running product wait for long."""

import time
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from apps.ground.outages import is_wait_over
from apps.ground.sessions import are_shared
from apps.ground.sparing_states import sparing

# Seconds that a statement waits for its lock: as long, all that use the table wait behind it.
LOCK_SECONDS = 2
# How often it is tried, and how many seconds lie between.
TRIES = 5
PAUSE_SECONDS = 3.0


class Command(migrate.Command):
    """Django's, which on PostgreSQL gives a lock up after two seconds and tries again; statements may take their time.

    What was applied before stays; each migration is undone whole where it is atomic. Behind a pooler the role says how
    long to wait: others would get the session that was told otherwise.
    """

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate.

        Raises:
            CommandError: A lock could not be had, however often it was tried.
        """
        with sparing():
            self._migrate(connections[options["database"]], *args, **options)

    def _migrate(self, connection: BaseDatabaseWrapper, *args: Any, **options: Any) -> None:
        if connection.vendor != "postgresql":
            super().handle(*args, **options)
            return
        if are_shared(connection.alias):
            self._patiently(*args, **options)
            return
        with connection.cursor() as cursor:
            cursor.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'; SET statement_timeout = 0")
        try:
            self._patiently(*args, **options)
        finally:
            with connection.cursor() as cursor:
                cursor.execute("RESET lock_timeout; RESET statement_timeout")

    def _patiently(self, *args: Any, **options: Any) -> None:
        for left in reversed(range(TRIES)):
            try:
                super().handle(*args, **options)
                return
            except OperationalError as error:
                if not is_wait_over(error):
                    raise
                if not left:
                    raise CommandError(
                        f"Others kept a table locked: it was waited for {TRIES} times. "
                        "What was applied before stays. Run migrate again when there is less traffic."
                    ) from error
                self.stderr.write(f"A table is in use; trying again in {PAUSE_SECONDS:.0f} seconds.")
                time.sleep(PAUSE_SECONDS)
