"""``migrate`` that never blocks the running installation for long."""

import time
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from apps.ground.migration_states import fast_migration_states
from apps.ground.pooling import uses_transaction_pooling
from apps.ground.transient_errors import is_lock_timeout

# The maximum time that a statement waits for its lock; all other users of the table wait behind the statement.
LOCK_SECONDS = 2
# The number of tries and the seconds between them.
MAX_TRIES = 5
PAUSE_SECONDS = 3.0


class Command(migrate.Command):
    """Django's command with a lock timeout of two seconds and retries on PostgreSQL; statements have no time limit.

    Migrations applied before a failure stay; each atomic migration is rolled back as a whole. Behind a transaction
    pooler the timeouts are set on the database role, because session settings would leak to other clients.
    """

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate.

        Raises:
            CommandError: A lock was not granted after several tries.
        """
        with fast_migration_states():
            self._migrate(connections[options["database"]], *args, **options)

    def _migrate(self, connection: BaseDatabaseWrapper, *args: Any, **options: Any) -> None:
        if connection.vendor != "postgresql":
            super().handle(*args, **options)
            return
        if uses_transaction_pooling(connection.alias):
            self._migrate_with_retries(*args, **options)
            return
        with connection.cursor() as cursor:
            cursor.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'; SET statement_timeout = 0")
        try:
            self._migrate_with_retries(*args, **options)
        finally:
            with connection.cursor() as cursor:
                cursor.execute("RESET lock_timeout; RESET statement_timeout")

    def _migrate_with_retries(self, *args: Any, **options: Any) -> None:
        for remaining_tries in reversed(range(MAX_TRIES)):
            try:
                super().handle(*args, **options)
                return
            except OperationalError as error:
                if not is_lock_timeout(error):
                    raise
                if not remaining_tries:
                    raise CommandError(
                        f"A table was still locked after {MAX_TRIES} tries. "
                        "Migrations applied so far stay. Run migrate again when there is less traffic."
                    ) from error
                self.stderr.write(f"A table is locked; trying again in {PAUSE_SECONDS:.0f} seconds.")
                time.sleep(PAUSE_SECONDS)
