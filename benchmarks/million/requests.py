"""Send requests within this process, and measure the database time of each request."""

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
    """The cost of a request.

    Attributes:
        ms: The database time of the statements in milliseconds. For a local PostgreSQL server, this is the CPU time of
            the connection's server process, which hardly depends on other load. For SQLite, it is the CPU time of this
            process until the first row. For a remote server, it is the wall time until the first row.
        statements: The number of statements.
        slowest: The text of the slowest statement.
        status: The status of the response.
        size: The size of the response in bytes.
        own_ms: The CPU time of this process in milliseconds, without the database time.
        counted: The number in the response, if the response is a count.
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
        """Return the total CPU time of the database and this process in milliseconds."""
        return self.ms + self.own_ms

    def note(self, sql: str, ms: float) -> None:
        """Add the time of a statement."""
        self.ms += ms
        self.statements += 1
        if ms >= self._most:
            self._most, self.slowest = ms, sql


def request_page(client: "Client", path: str) -> Cost:
    """Send a request several times, and return the lowest cost.

    Requests that are very fast or take seconds are sent fewer times. The render cache is cleared before each attempt.
    """
    from apps.core.rest.reading import render_cache

    costs: list[Cost] = []
    for number in range(TRIES + 1):
        render_cache.cache.clear()
        with time_statements() as cost:
            began = time.process_time()
            response = client.get(path)
            cost.own_ms = (time.process_time() - began) * 1000 - (cost.ms if _within_this_process() else 0)
            sent_response: Any = response
            cost.size = (
                sum(len(part) for part in sent_response.streaming_content)
                if sent_response.streaming
                else len(sent_response.content)
            )
        cost.status = response.status_code
        if path.partition("?")[0].endswith("/count.json") and cost.status == 200:
            cost.counted = response.json()["count"]
        if number:
            costs.append(cost)
        # The first attempt warms up the process and does not count, unless it takes seconds.
        if cost.ms > 2000 or (number and cost.ms < REPEATED_FROM_MS):
            costs.append(cost)
            break
    return min(costs, key=lambda item: item.ms)


@contextmanager
def time_statements() -> Iterator[Cost]:
    """Measure the time of all statements within the block."""
    from django.db import connection

    cost, now = Cost(), _clock()

    def timed(execute: Callable[..., Any], sql: str, params: Any, is_many: bool, context: Any) -> Any:
        began = now()
        try:
            return execute(sql, params, is_many, context)
        finally:
            cost.note(sql, (now() - began) * 1000)

    with connection.execute_wrapper(timed):
        yield cost


def _clock() -> Callable[[], float]:
    """Return a clock: CPU time of the connection's server process if the database is local, otherwise wall time."""
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


def limit_statements() -> None:
    """Set a statement timeout, so that slow cases fail, and turn off parallel queries."""
    from django.db import connection

    if _within_this_process():
        return
    with connection.cursor() as cursor:
        cursor.execute(f"SET statement_timeout = '{SECONDS}s'; SET max_parallel_workers_per_gather = 0")
