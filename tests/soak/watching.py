"""A running installation under load, watched from the side: memory, connections and queues, once in a while.

Each sample is a line of the file that ``SOAK_SAMPLES`` names, written at once, so that a run that is cut short has
its figures too.
"""

import os
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Self

from django.db import connection

from benchmarks.servers import family_megabytes


@dataclass(frozen=True)
class Sample:
    """What was seen at one moment.

    Attributes:
        second: Since the watch began.
        web: Megabytes of the largest web process.
        others: Megabytes of the worker, the scheduler and the dispatcher of webhooks together.
        connections: To the database, but that of who asks.
        waiting: Jobs and events that are due and not done.
        answers: That the callers got since the watch began.
    """

    second: int
    web: float
    others: float
    connections: int
    waiting: int
    answers: int


class Watch:
    """Takes a sample every so many seconds in a thread of its own until it is left.

    Args:
        web: Tells the megabytes of the largest web process.
        others: The processes beside the web, by their ids.
        answered: Tells how many answers there were.
        every: Seconds between two samples.
    """

    def __init__(
        self, web: Callable[[], float], others: Sequence[int], answered: Callable[[], int], *, every: float
    ) -> None:
        self.samples: list[Sample] = []
        self._web, self._others, self._answered, self._every = web, others, answered, every
        self._began, self._over = time.monotonic(), threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def means(self, name: str) -> tuple[float, float]:
        """The mean of a figure in the first and in the last quarter of the samples."""
        values = [float(getattr(sample, name)) for sample in self.samples]
        quarter = max(1, len(values) // 4)
        return statistics.fmean(values[:quarter]), statistics.fmean(values[-quarter:])

    def highest(self, name: str) -> tuple[int, int]:
        """The highest value of a figure in the first and in the second half of the samples."""
        values = [int(getattr(sample, name)) for sample in self.samples]
        half = max(1, len(values) // 2)
        return max(values[:half]), max(values[half:] or values)

    def _run(self) -> None:
        _note("\t".join(field.name for field in fields(Sample)))
        try:
            while not self._over.wait(self._every):
                self.samples.append(self._sample())
                _note("\t".join(str(value) for value in astuple(self.samples[-1])))
        finally:
            connection.close()

    def _sample(self) -> Sample:
        connections, waiting = _database()
        others = sum(family_megabytes(pid) for pid in self._others)
        second = round(time.monotonic() - self._began)
        return Sample(second, round(self._web(), 1), round(others, 1), connections, waiting, self._answered())


def _database() -> tuple[int, int]:
    """Connections to the database but this one, and what is due and not done."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND backend_type = 'client backend' AND pid <> pg_backend_pid()),"
            " (SELECT count(*) FROM jobs_job WHERE state IN ('waiting', 'running') AND due_at <= now())"
            " + (SELECT count(*) FROM webhooks_pending)"
        )
        connections, waiting = cursor.fetchone()
    return int(connections), int(waiting)


def _note(line: str) -> None:
    """Add a line to the file of samples, where one is wanted."""
    if name := os.environ.get("SOAK_SAMPLES"):
        with Path(name).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
