"""Monitor an installation under load: memory, connections and queues.

Each sample is immediately written to the file ``SOAK_SAMPLES``, so that an interrupted run also has measurements.
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

from benchmarks.servers import get_family_megabytes


@dataclass(frozen=True)
class LoadSample:
    second: int  # since the start
    web: float  # the memory of the largest web process in megabytes
    others: float  # the total memory of the worker and the scheduler in megabytes
    connections: int  # database connections, excluding the monitor's connection
    waiting: int  # pending events, and unfinished jobs that are due
    answers: int  # responses since the start


class ProcessMonitor:
    """A thread that takes samples every ``every`` seconds until the block ends."""

    def __init__(
        self, web: Callable[[], float], other_processes: Sequence[int], answered: Callable[[], int], *, every: float
    ) -> None:
        self.samples: list[LoadSample] = []
        self._web, self._others, self._answered, self._every = web, other_processes, answered, every
        self._began, self._over = time.monotonic(), threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def means(self, name: str) -> tuple[float, float]:
        """Return the mean of a measurement in the first and the last quarter of the samples."""
        values = [float(getattr(sample, name)) for sample in self.samples]
        quarter = max(1, len(values) // 4)
        return statistics.fmean(values[:quarter]), statistics.fmean(values[-quarter:])

    def highest(self, name: str) -> tuple[int, int]:
        """Return the maximum of a measurement in the first and the second half of the samples."""
        values = [int(getattr(sample, name)) for sample in self.samples]
        half = max(1, len(values) // 2)
        return max(values[:half]), max(values[half:] or values)

    def _run(self) -> None:
        _append_sample("\t".join(field.name for field in fields(LoadSample)))
        try:
            while not self._over.wait(self._every):
                self.samples.append(self._sample())
                _append_sample("\t".join(str(value) for value in astuple(self.samples[-1])))
        finally:
            connection.close()

    def _sample(self) -> LoadSample:
        connections, waiting = _count_connections_and_pending()
        others = round(sum(get_family_megabytes(pid) for pid in self._others), 1)
        second = round(time.monotonic() - self._began)
        return LoadSample(second, round(self._web(), 1), others, connections, waiting, self._answered())


def _count_connections_and_pending() -> tuple[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND backend_type = 'client backend' AND pid <> pg_backend_pid()),"
            " (SELECT count(*) FROM jobs_job WHERE state IN ('waiting', 'running') AND due_at <= now())"
            " + (SELECT count(*) FROM webhooks_pending)"
        )
        connections, waiting = cursor.fetchone()
    return int(connections), int(waiting)


def _append_sample(line: str) -> None:
    if name := os.environ.get("SOAK_SAMPLES"):
        with Path(name).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
