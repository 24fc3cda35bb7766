"""Send requests within this process, and measure the database's work for each."""

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
        ms: The milliseconds that the database took for its statements: processor time of the connection's server
            process (of this process for SQLite, up to the first row), which is hardly affected by other load; wall time
            to the first rows if the server is on another machine.
        statements: The number of statements.
        slowest: The text of the slowest statement.
        status: The response's status.
        size: The response's bytes.
        own_ms: The milliseconds of this process without the database; the whole request is included.
        counted: The number in the response, if it is a count.
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
        """Return the milliseconds of processor time of the database and of this process."""
        return self.ms + self.own_ms

    def note(self, sql: str, ms: float) -> None:
        """Add a statement."""
        self.ms += ms
        self.statements += 1
        if ms >= self._most:
            self._most, self.slowest = ms, sql


def request_page(client: "Client", path: str) -> Cost:
    """Return the cheapest of a few attempts, which reduces noise; quick requests are sent twice.

    No rendered result is reused, and what a process learns once is not a cost of a request.
    """
    from apps.api.rows import render_cache

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
        # The first attempt warms up; one that took seconds is sufficient.
        if cost.ms > 2000 or (number and cost.ms < REPEATED_FROM_MS):
            costs.append(cost)
            break
    return min(costs, key=lambda item: item.ms)


@contextmanager
def time_statements() -> Iterator[Cost]:
    """Time every statement of this process within the block."""
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
    """Return processor seconds of the connection's server process if the database is local, else wall time."""
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
    """Limit statements to some seconds, which show as refused, and turn off parallel queries."""
    from django.db import connection

    if _within_this_process():
        return
    with connection.cursor() as cursor:
        cursor.execute(f"SET statement_timeout = '{SECONDS}s'; SET max_parallel_workers_per_gather = 0")
