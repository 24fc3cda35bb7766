"""Collect SQL statements from several parts of a workflow and send them to the database together.

While a row is locked, every round trip makes other writers wait. So the statements that run under the lock are
collected and then sent together (see ``apps.core.db.prepared_sql.execute_batch``).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import Model

from apps.core.db.prepared_sql import Rows, StatementCall, build_inserts, execute_batch

# PostgreSQL changes this many rows or more in less time with one statement for all rows than with one for each row.
_MANY_CHANGES = 10


def should_change_together(count: int) -> bool:
    """Return True if one statement should change all rows. SQLite needs no round trips, so it gains nothing."""
    return count >= _MANY_CHANGES and connection.vendor == "postgresql"


class StatementBatch:
    """SQL statements in the order in which they run. ``collect_statements`` creates a batch."""

    def __init__(self) -> None:
        self._calls: list[StatementCall] = []
        self._results: list[Rows] = []
        self._callbacks: list[Callable[[], object]] = []

    def add(self, call: StatementCall, callback: Callable[[Rows], object] | None = None) -> None:
        """Add a statement. ``callback`` is called with the returned rows after all statements have run."""
        index = len(self._calls)
        self._calls.append(call)
        if callback is not None:
            self.add_callback(lambda: callback(self._results[index]))

    def insert(self, instances: Sequence[Model]) -> None:
        """Add statements that insert rows of one model. The instances get their keys after all statements have run."""
        for rows, call in build_inserts(instances):
            self.add(call, partial(_give_keys, rows))

    def add_callback(self, callback: Callable[[], object]) -> None:
        """Add a callback that runs after all statements. Callbacks run in the order in which they were added."""
        self._callbacks.append(callback)

    def run(self) -> None:
        self._results = execute_batch(self._calls)
        for callback in self._callbacks:
            callback()


def _give_keys(instances: Sequence[Model], rows: Rows) -> None:
    for instance, (key,) in zip(instances, rows, strict=True):
        instance.pk = key
        instance._state.adding = False
        instance._state.db = DEFAULT_DB_ALIAS


@contextmanager
def collect_statements(batch: StatementBatch | None = None) -> Iterator[StatementBatch]:
    """Collect statements, and run them as a batch when the block ends. Must be used inside a transaction.

    The statements are added to the outer batch if one is given. The caller runs the outer batch.
    """
    if batch is not None:
        yield batch
        return
    own = StatementBatch()
    yield own
    own.run()
