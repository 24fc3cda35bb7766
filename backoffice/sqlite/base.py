"""SQLite connections with short pauses between attempts to write, so that all writers wait about equally long.

SQLite has no queue for writers. A blocked writer sleeps longer after each attempt (up to 100 milliseconds), and writers
that arrive later overtake it. Here the pauses become shorter instead, so writers that have waited for long usually go
first. ``benchmarks.writers`` compares both. Reads do not wait.
"""

import sqlite3
import time
from typing import Any

from django.db.backends.sqlite3 import base

# The first pause and the shortest pause between two attempts, in seconds.
FIRST_PAUSE, SHORTEST_PAUSE = 0.010, 0.001
# The pauses reach the shortest length when a writer has waited for this many seconds.
SHORTENING_SECONDS = 0.09
# The type stubs do not include the internals of database backends.
_Django: Any = base.DatabaseWrapper


class DatabaseWrapper(_Django):
    """Django's SQLite backend, which itself retries to begin a write transaction.

    A transaction waits as long as SQLite would wait (``PRAGMA busy_timeout``), and then raises SQLite's own error.
    """

    def _start_transaction_under_autocommit(self) -> None:
        if self.transaction_mode != "IMMEDIATE":
            super()._start_transaction_under_autocommit()
            return
        timeout_ms = self.connection.execute("PRAGMA busy_timeout").fetchone()[0]
        self.connection.execute("PRAGMA busy_timeout = 0")
        try:
            with self.wrap_database_errors:
                self._begin_within(timeout_ms / 1000)
        finally:
            self.connection.execute(f"PRAGMA busy_timeout = {timeout_ms}")

    def _begin_within(self, seconds: float) -> None:
        start = time.monotonic()
        while True:
            try:
                self.connection.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                waited = time.monotonic() - start
                # The last byte of an extended error code is the basic error code.
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or waited >= seconds:
                    raise
            shortened = FIRST_PAUSE - (FIRST_PAUSE - SHORTEST_PAUSE) * waited / SHORTENING_SECONDS
            time.sleep(min(max(shortened, SHORTEST_PAUSE), seconds - waited))
