import http.client
import json
import random
import select
import statistics
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Self

PREFIX = "/admin/api/2026-07/"


@dataclass
class ApiRequest:
    """An API request. The path starts after the version."""

    method: str
    path: str
    body: object = None


@dataclass
class RequestStatistics:
    statuses: Counter[int] = field(default_factory=Counter)  # status 0 is a broken connection
    seconds: list[float] = field(default_factory=list)  # the response time of each request
    headers: list[dict[str, str]] = field(default_factory=list)  # of responses with status 429
    broken: list[str] = field(default_factory=list)  # the time and the error of each broken connection
    began: float = field(default_factory=time.monotonic)

    def count(self) -> int:
        return sum(self.statuses.values())

    def percentile(self, hundredth: int) -> float:
        return statistics.quantiles(self.seconds, n=100)[hundredth - 1] * 1000


class PersistentClient:
    def __init__(self, port: int, token: str, fates: RequestStatistics, timeout: float = 60) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        self._token, self._fates = token, fates

    def call(self, call: ApiRequest) -> int:
        """Send a request, record the result and return the status, or 0 for a broken connection."""
        body = None if call.body is None else json.dumps(call.body)
        headers = {"X-Platform-Access-Token": self._token, "Content-Type": "application/json"}
        if self._is_given_up():
            self._connection.close()
        began = time.monotonic()
        try:
            self._connection.request(call.method, PREFIX + call.path, body, headers)
            response = self._connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            self._fates.statuses[0] += 1
            self._fates.broken.append(f"{time.monotonic() - self._fates.began:.0f} s: {error!r}")
            return 0
        self._fates.seconds.append(time.monotonic() - began)
        self._fates.statuses[response.status] += 1
        if response.status == 429:
            self._fates.headers.append(dict(response.getheaders()))
        return response.status

    def _is_given_up(self) -> bool:
        """Return True if the server has closed the idle connection. Connection pools check this before each request."""
        socket = self._connection.sock
        if socket is None:
            return False
        # ``select.select`` cannot handle file descriptors above 1,023, and more connections may be open.
        watched = select.poll()
        watched.register(socket, select.POLLIN)
        return bool(watched.poll(0))

    def close(self) -> None:
        self._connection.close()


class ClientThreads(ABC):
    """Clients in threads that send requests until the ``with`` block ends."""

    def __init__(self, count: int) -> None:
        self.has_ended = threading.Event()
        self._threads = [threading.Thread(target=self.send_requests, args=(index,)) for index in range(count)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.has_ended.set()
        for thread in self._threads:
            thread.join()

    @abstractmethod
    def send_requests(self, index: int) -> None:
        """Send requests until ``has_ended`` is set."""


def send_concurrently(port: int, token: str, call: ApiRequest, times: int) -> RequestStatistics:
    fates = RequestStatistics()
    ready = threading.Barrier(times)

    def run() -> None:
        caller = PersistentClient(port, token, fates)
        ready.wait(60)
        caller.call(call)
        caller.close()

    _join_threads(threading.Thread(target=run) for _ in range(times))
    return fates


def send_at_rate(
    port: int,
    tokens: list[str],
    choose: Callable[[int, random.Random], ApiRequest],
    *,
    rate: float,
    seconds: float,
    callers: int,
    fates: RequestStatistics | None = None,
) -> RequestStatistics:
    """Send requests at a constant rate, even if the server is slow. Each request is sent by the next free client.

    Args:
        tokens: The access tokens, which are used in rotation.
        choose: A function that returns the next request for the token with this index.
        rate: The total number of requests per second.
        callers: The number of clients. Each client has a connection for each token.
        fates: The statistics to update while the requests run.
    """
    fates = RequestStatistics() if fates is None else fates
    began = time.monotonic()
    numbers = iter(range(int(rate * seconds)))
    lock = threading.Lock()

    def run() -> None:
        chance = random.Random()
        lines = [PersistentClient(port, token, fates) for token in tokens]
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                break
            time.sleep(max(0.0, began + number / rate - time.monotonic()))
            turn = number % len(tokens)
            lines[turn].call(choose(turn, chance))
        for line in lines:
            line.close()

    _join_threads(threading.Thread(target=run) for _ in range(callers))
    return fates


def _join_threads(threads: Iterable[threading.Thread]) -> None:
    started = list(threads)
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
