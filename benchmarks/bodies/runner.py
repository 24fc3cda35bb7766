"""Send requests within this process, and measure each request."""

import itertools
import json
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from django.test import Client
    from django.urls import URLPattern, URLResolver

MOST_SECONDS = 1.0
ROOT = "/admin/api/2026-10"
WRITES = {"post", "put", "delete"}
Body = dict[str, Any]


@dataclass
class Measurement:
    """The cost of a request.

    Attributes:
        seconds: The CPU time of this process in seconds.
        statements: The number of SQL statements.
        size: The size of the body in bytes.
    """

    seconds: float
    statements: int
    size: int


class Bench:
    """A client that sends and measures requests.

    Each request is sent in several rounds. The lowest time counts, because other load on the machine only adds time. If
    several requests in a round have the same name, the highest time counts. Statements are only counted in the first
    round, because counting changes how the product sends statements.
    """

    root = ROOT

    def __init__(self, client: "Client") -> None:
        self.client = client
        self.least: dict[str, Measurement] = {}
        self.round: dict[str, Measurement] = {}
        self.sent: set[str] = set()
        self.floors: list[float] = []

    def made(self, path: str, body: Body) -> Any:
        """Send a POST request without measuring, and return the JSON response.

        Raises:
            AssertionError: The body was refused.
        """
        response = self.client.post(f"{ROOT}/{path}", body, "application/json")
        assert response.status_code in {200, 201, 202}, (path, response.status_code, response.content[:500])
        return response.json()

    def send(self, name: str, method: str, path: str, body: Body | None = None, client: "Client | None" = None) -> Any:
        """Send and measure a request, and return the JSON response. ``client`` is for requests from another app.

        Raises:
            AssertionError: The body was refused.
        """
        from django.db import connection

        data = json.dumps(body).encode() if body is not None else b""
        count = itertools.count(1)
        statements = 0

        def counted(execute: Callable[..., Any], *arguments: Any) -> Any:
            nonlocal statements
            statements = next(count)
            return execute(*arguments)

        with nullcontext() if self.floors else connection.execute_wrapper(counted):
            began = time.process_time()
            response = (client or self.client).generic(method, f"{ROOT}/{path}", data, "application/json")
            seconds = time.process_time() - began
        assert response.status_code in {200, 201, 202}, (name, response.status_code, response.content[:500])
        before = self.round.get(name)
        if before is None or seconds > before.seconds:
            self.round[name] = Measurement(seconds, statements, len(data))
        self.sent.add(f"{method} {_plain(response.resolver_match.route)}")
        return json.loads(response.content) if response.content else None

    def end_round(self) -> None:
        """Update the lowest time of each request, and measure the machine's current speed."""
        for name, first in self.round.items():
            existing = self.least.setdefault(name, first)
            self.least[name] = replace(existing, seconds=min(existing.seconds, first.seconds))
        self.round = {}
        self.floors.append(_floor())

    def missing(self) -> list[str]:
        """Return the writing routes that no request has used."""
        return sorted(set(get_writing_routes()) - self.sent)


def _floor() -> float:
    """Return the CPU seconds for a fixed amount of JSON work, to compare machines and runs."""
    began = time.process_time()
    for _ in range(20):
        rows = [{"id": number, "title": f"Row {number}", "price": "9.90"} for number in range(5_000)]
        json.loads(json.dumps(rows))
    return time.process_time() - began


def get_writing_routes() -> Iterator[str]:
    """Yield the method and pattern of each writing route in the URL configuration."""
    from backoffice import api_urls

    for pattern in _leaves(api_urls.resources):
        for method in getattr(pattern.callback, "actions", {}):
            if method in WRITES:
                yield f"{method.upper()} {_plain(str(pattern.pattern))}"


def _leaves(patterns: "list[URLPattern | URLResolver]") -> "Iterator[URLPattern]":
    for entry in patterns:
        if hasattr(entry, "url_patterns"):
            yield from _leaves(entry.url_patterns)
        else:
            yield entry


def _plain(pattern: str) -> str:
    return pattern.rpartition("<str:version>/")[2].replace("<id:", "<")
