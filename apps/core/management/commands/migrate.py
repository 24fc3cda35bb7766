"""``manage.py migrate``: apply migrations without blocking the running installation for long."""

import time
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from apps.core.db.postgresql.connections import uses_transaction_pooling
from apps.core.db.transient_errors import is_lock_timeout
from apps.core.management.migration_preconditions import PreconditionFailed, check_preconditions

# The maximum time that a statement waits for a table lock. Other queries that use the table wait behind the statement.
LOCK_SECONDS = 2
# The number of attempts, and the number of seconds between attempts.
MAX_TRIES = 5
PAUSE_SECONDS = 3.0


class Command(migrate.Command):
    """Django's ``migrate`` with checked preconditions, and with a lock timeout and retries on PostgreSQL.

    If a migration fails, earlier migrations remain applied, and the failed migration is rolled back if it is atomic.
    Behind a transaction pooler, the timeouts must be set on the database role, because session settings would leak to
    other clients.
    """

    def execute(self, *args: Any, **options: Any) -> Any:
        """Check the preconditions before Django's system checks, because their messages would hide the reason.

        Raises:
            CommandError: A precondition failed.
        """
        if not (options["fake"] or options["fake_initial"]):
            try:
                check_preconditions(connections[options["database"]])
            except PreconditionFailed as error:
                raise CommandError(f"{error} Nothing was changed.") from error
        return super().execute(*args, **options)

    def handle(self, *args: Any, **options: Any) -> None:
        """Apply the migrations.

        Raises:
            CommandError: A table was still locked after several attempts.
        """
        connection: BaseDatabaseWrapper = connections[options["database"]]
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
                        f"A table was still locked after {MAX_TRIES} attempts. "
                        "Earlier migrations remain applied. Run migrate when there is less traffic."
                    ) from error
                self.stderr.write(f"A table is locked. The next attempt starts in {PAUSE_SECONDS:.0f} seconds.")
                time.sleep(PAUSE_SECONDS)
