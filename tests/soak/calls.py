"""Many callers of a running server, each with a connection of its own, and what became of their calls."""

import http.client
import json
import random
import select
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

PREFIX = "/admin/api/2026-07/"


@dataclass
class Call:
    """One request: its method, the path below the version, its body."""

    method: str
    path: str
    body: object = None


@dataclass
class Fates:
    """What became of calls.

    Attributes:
        statuses: How often each status was answered; 0 stands for a connection that broke.
        seconds: How long each answer took.
        headers: Those of the refusals.
        broken: Why connections broke, and at which second since the first call.
    """

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def count(self) -> int:
        """How many calls were answered or broke."""
        return sum(self.statuses.values())

    def percentile(self, hundredth: int) -> float:
        """Milliseconds within which so many of a hundred answers came."""
        return statistics.quantiles(self.seconds, n=100)[hundredth - 1] * 1000


class Caller:
    """A connection that lasts, with one token."""

    def __init__(self, port: int, token: str, fates: Fates) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._token, self._fates = token, fates

    def call(self, call: Call) -> int:
        """Send a call and note its fate; answers its status, 0 where the connection broke."""
        body = None if call.body is None else json.dumps(call.body)
        headers = {"X-Platform-Access-Token": self._token, "Content-Type": "application/json"}
        if self._is_given_up():
            self._connection.close()
        began = time.monotonic()
        try:
            self._connection.request(call.method, PREFIX + call.path, body, headers)
            answer = self._connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            self._fates.statuses[0] += 1
            self._fates.broken.append(f"{time.monotonic() - self._fates.began:.0f} s: {error!r}")
            return 0
        self._fates.seconds.append(time.monotonic() - began)
        self._fates.statuses[answer.status] += 1
        if answer.status == 429:
            self._fates.headers.append(dict(answer.getheaders()))
        return answer.status

    def _is_given_up(self) -> bool:
        """Whether the server has closed the idle connection, as it may; the pools of clients look before they send."""
        socket = self._connection.sock
        if socket is None:
            return False
        # ``select`` itself knows no descriptor above 1,023, and callers have more connections than that.
        watched = select.poll()
        watched.register(socket, select.POLLIN)
        return bool(watched.poll(0))

    def close(self) -> None:
        self._connection.close()


def all_at_once(port: int, token: str, call: Call, times: int) -> Fates:
    """The same call over so many connections at one moment."""
    fates = Fates()
    ready = threading.Barrier(times)

    def run() -> None:
        caller = Caller(port, token, fates)
        ready.wait(60)
        caller.call(call)
        caller.close()

    _join(threading.Thread(target=run) for _ in range(times))
    return fates


def steadily(
    port: int,
    tokens: list[str],
    choose: Callable[[int, random.Random], Call],
    *,
    rate: float,
    seconds: float,
    callers: int,
    fates: Fates | None = None,
) -> Fates:
    """Calls at a rate per second, whoever is free takes the next; a server that lags is not waited for longer.

    Args:
        port: Of the server.
        tokens: Of whom the calls are, in turn.
        choose: What to call, by the number of the token.
        rate: Calls per second in all.
        seconds: For how long.
        callers: How many connections for each token.
        fates: Where to note what becomes of the calls while it does; one of its own without.
    """
    fates = Fates() if fates is None else fates
    began = time.monotonic()
    numbers = iter(range(int(rate * seconds)))
    lock = threading.Lock()

    def run() -> None:
        chance = random.Random()
        lines = [Caller(port, token, fates) for token in tokens]
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

    _join(threading.Thread(target=run) for _ in range(callers))
    return fates


def _join(threads: Iterable[threading.Thread]) -> None:
    started = list(threads)
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
