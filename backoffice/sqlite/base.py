"""The connection to SQLite: its writing transactions pass the gate, its reads never do."""

import time
from typing import Any

from django.db.backends.sqlite3 import base

from backoffice.sqlite.gate import Gate

# Of the time that a writer may wait; so little is not taken off SQLite's own wait, which takes two statements.
_NEGLIGIBLE = 0.1
# The types that there are for it leave out what backends are made of.
_Django: Any = base.DatabaseWrapper


class DatabaseWrapper(_Django):
    """Django's, whose transactions that begin as a writer's take a turn at the gate and give it up when they end.

    A turn is waited for as long as SQLite would wait (``PRAGMA busy_timeout``, whoever sets it), and where it does not
    come the error is SQLite's. A transaction's end gives it up, and so do the connection's and the process's.
    """

    _gate: Gate | None = None

    def _start_transaction_under_autocommit(self) -> None:
        """Begin, as a writer in turn.

        Raises:
            OperationalError: Other writers are not done in time: "database is locked".
        """
        gate = self._usable_gate()
        if gate is None:
            super()._start_transaction_under_autocommit()
            return
        try:
            if gate.enter():
                super()._start_transaction_under_autocommit()
            else:
                self._begin_after_others(gate)
        except BaseException:
            gate.leave()
            raise

    def _usable_gate(self) -> Gate | None:
        """The gate of this process and file; none where the transaction begins as a reader's, or nothing is shared."""
        if self.transaction_mode != "IMMEDIATE" or self.is_in_memory_db():
            return None
        if self._gate is None or not self._gate.is_open:
            self._gate = Gate.before(str(self.settings_dict["NAME"]))
        return self._gate

    def _begin_after_others(self, gate: Gate) -> None:
        began = time.monotonic()
        patience = self.connection.execute("PRAGMA busy_timeout").fetchone()[0]
        if not gate.wait(patience / 1000):
            with self.wrap_database_errors:
                raise self.Database.OperationalError("database is locked")
        waited = (time.monotonic() - began) * 1000
        if waited < patience * _NEGLIGIBLE:
            super()._start_transaction_under_autocommit()
            return
        # Whoever holds the file now has not come through the gate.
        self.connection.execute(f"PRAGMA busy_timeout = {max(0, int(patience - waited))}")
        try:
            super()._start_transaction_under_autocommit()
        finally:
            self.connection.execute(f"PRAGMA busy_timeout = {patience}")

    def _commit(self) -> None:
        super()._commit()
        self._leave_gate()

    def _rollback(self) -> None:
        try:
            super()._rollback()
        finally:
            self._leave_gate()

    def _close(self) -> None:
        try:
            super()._close()
        finally:
            if self._gate is not None:
                self._gate.close()
                self._gate = None

    def _leave_gate(self) -> None:
        if self._gate is not None:
            self._gate.leave()
