"""Statements that several parts of a workflow say, and that go to the database together.

Whoever holds a row that others wait for pays for each answer that it waits for. So what has to be written while the row
is held is collected first and sent in one go (``apps.ground.sql.execute_all``).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from django.db import DEFAULT_DB_ALIAS
from django.db.models import Model

from apps.ground.sql import Call, Rows, execute_all, insertions


class Batch:
    """Statements in the order in which they will be run; made by ``together``."""

    def __init__(self) -> None:
        """Begin with none."""
        self._calls: list[Call] = []
        self._answers: list[Rows] = []
        self._thens: list[Callable[[], object]] = []

    def add(self, call: Call, then: Callable[[Rows], object] | None = None) -> None:
        """Run a statement after those before it; ``then`` is told of its rows once all have been run."""
        place = len(self._calls)
        self._calls.append(call)
        if then is not None:
            self.then(lambda: then(self._answers[place]))

    def insert(self, instances: Sequence[Model]) -> None:
        """Insert rows of one model, which have their keys once all statements have been run."""
        for rows, call in insertions(instances):
            self.add(call, partial(_give_keys, rows))

    def then(self, act: Callable[[], object]) -> None:
        """Do something once all statements have been run, after what was named before it."""
        self._thens.append(act)

    def run(self) -> None:
        """Run the statements, then what is done by their answers."""
        self._answers = execute_all(self._calls)
        for act in self._thens:
            act()


def _give_keys(instances: Sequence[Model], rows: Rows) -> None:
    for instance, (key,) in zip(instances, rows, strict=True):
        instance.pk = key
        instance._state.adding = False
        instance._state.db = DEFAULT_DB_ALIAS


@contextmanager
def together(batch: Batch | None = None) -> Iterator[Batch]:
    """Collect statements, which are run when the block ends; in a transaction.

    Args:
        batch: One that the caller collects: what is said within the block joins it, and is run with it.
    """
    if batch is not None:
        yield batch
        return
    own = Batch()
    yield own
    own.run()
