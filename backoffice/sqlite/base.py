"""SQLite connections with a queue for write transactions. Reads do not wait in the queue."""

import time
from typing import Any

from django.db.backends.sqlite3 import base

from backoffice.sqlite.write_queue import WriteQueue

# A wait shorter than this fraction of the timeout is not subtracted from SQLite's own timeout, because changing the
# timeout requires two statements.
_NEGLIGIBLE = 0.1
# The type stubs do not include the internals of database backends.
_Django: Any = base.DatabaseWrapper


class DatabaseWrapper(_Django):
    """Django's SQLite backend with a queue for write transactions.

    A write transaction waits in the queue for as long as SQLite itself would wait (``PRAGMA busy_timeout``), and then
    raises the same error as SQLite. The next writer can start when the transaction, the connection or the process ends.
    """

    _write_queue: WriteQueue | None = None

    def _start_transaction_under_autocommit(self) -> None:
        """Wait for the transactions of earlier writers, then begin a transaction."""
        write_queue = self._get_queue()
        if write_queue is None:
            super()._start_transaction_under_autocommit()
            return
        try:
            if write_queue.try_enter():
                super()._start_transaction_under_autocommit()
            else:
                self._begin_in_queue(write_queue)
        except BaseException:
            write_queue.leave()
            raise

    def _get_queue(self) -> WriteQueue | None:
        """Return the write queue. In-memory databases and transactions that begin as readers have no queue."""
        if self.transaction_mode != "IMMEDIATE" or self.is_in_memory_db():
            return None
        if self._write_queue is None or not self._write_queue.is_open:
            self._write_queue = WriteQueue.open_for(str(self.settings_dict["NAME"]))
        return self._write_queue

    def _begin_in_queue(self, write_queue: WriteQueue) -> None:
        start = time.monotonic()
        timeout_ms = self.connection.execute("PRAGMA busy_timeout").fetchone()[0]
        if not write_queue.wait(timeout_ms / 1000):
            with self.wrap_database_errors:
                raise self.Database.OperationalError("database is locked")
        waited_ms = (time.monotonic() - start) * 1000
        if waited_ms < timeout_ms * _NEGLIGIBLE:
            super()._start_transaction_under_autocommit()
            return
        # Only a writer that does not use the queue can still lock the file. SQLite waits for that writer until the
        # original timeout expires.
        self.connection.execute(f"PRAGMA busy_timeout = {max(0, int(timeout_ms - waited_ms))}")
        try:
            super()._start_transaction_under_autocommit()
        finally:
            self.connection.execute(f"PRAGMA busy_timeout = {timeout_ms}")

    def _commit(self) -> None:
        super()._commit()
        self._leave_queue()

    def _rollback(self) -> None:
        try:
            super()._rollback()
        finally:
            self._leave_queue()

    def _close(self) -> None:
        try:
            super()._close()
        finally:
            if self._write_queue is not None:
                self._write_queue.close()
                self._write_queue = None

    def _leave_queue(self) -> None:
        if self._write_queue is not None:
            self._write_queue.leave()
