"""Requests within this process, and what the database had to do for each."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from django.test import Client

REPEATED_FROM_MS = 10.0
TRIES = 3
SECONDS = 20


@dataclass
class Cost:
    """What a request cost.

    Attributes:
        ms: The milliseconds that its statements took the database: processor time of the connection's own process (of
            this one for SQLite, up to the first row), which others that use the machine move little; from sending to
            the first rows where that is out of sight.
        statements: How many there were.
        slowest: The text of the one that took longest.
        status: The answer's.
        size: The answer's bytes.
        own_ms: The milliseconds that this process worked for it, beside the database; all of a request is here.
        counted: The number that it answers with, where it is a count.
    """

    ms: float = 0.0
    statements: int = 0
    slowest: str = ""
    status: int = 0
    size: int = 0
    own_ms: float = 0.0
    counted: int = 0
    _most: float = field(default=0.0, repr=False)

    @property
    def in_all_ms(self) -> float:
        """The milliseconds of processor time of the database and of this process."""
        return self.ms + self.own_ms

    def note(self, sql: str, ms: float) -> None:
        """Add a statement."""
        self.ms += ms
        self.statements += 1
        if ms >= self._most:
            self._most, self.slowest = ms, sql


def ask(client: "Client", path: str) -> Cost:
    """The cheapest of a few tries, so that what other programs do counts less; what is quick is tried twice.

    Nothing that was rendered before is re-used, and what a process learns once is no cost of a request.
    """
    from apps.api.rows import render_cache

    found: list[Cost] = []
    for number in range(TRIES + 1):
        render_cache.cache.clear()
        with counted() as cost:
            began = time.process_time()
            response = client.get(path)
            cost.own_ms = (time.process_time() - began) * 1000 - (cost.ms if _within_this_process() else 0)
            sent: Any = response
            cost.size = sum(len(part) for part in sent.streaming_content) if sent.streaming else len(sent.content)
        cost.status = response.status_code
        if path.partition("?")[0].endswith("/count.json") and cost.status == 200:
            cost.counted = response.json()["count"]
        if number:
            found.append(cost)
        # The first try warms; one that took seconds says enough.
        if cost.ms > 2000 or (number and cost.ms < REPEATED_FROM_MS):
            found.append(cost)
            break
    return min(found, key=lambda each: each.ms)


@contextmanager
def counted() -> Iterator[Cost]:
    """Within it, every statement of this process is timed."""
    from django.db import connection

    cost, now = Cost(), _clock()

    def timed(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        began = now()
        try:
            return execute(sql, params, many, context)
        finally:
            cost.note(sql, (now() - began) * 1000)

    with connection.execute_wrapper(timed):
        yield cost


def _clock() -> Callable[[], float]:
    """The seconds that the connection's process has worked, where the database is on this machine; else any seconds."""
    from django.db import connection

    connection.ensure_connection()
    if _within_this_process():
        return time.process_time
    worked = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat")
    if not worked.exists():
        return time.perf_counter
    return lambda: int(worked.read_text().split()[0]) / 1e9


def _within_this_process() -> bool:
    from django.db import connection

    return connection.vendor == "sqlite"


def patient() -> None:
    """Let no statement take longer than some seconds, which is shown as refused, and none be shared by processes."""
    from django.db import connection

    if _within_this_process():
        return
    with connection.cursor() as cursor:
        cursor.execute(f"SET statement_timeout = '{SECONDS}s'; SET max_parallel_workers_per_gather = 0")
