"""Requests to the store's REST API, and writers that change the store at random."""

import http.client
import json
import re
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.store_writers import RandomWriter
from tests.support.types import JsonObject

BRAND = "shopify"
PREFIX = "/admin/api/2026-10/"
PAUSE_SECONDS = 0.2
PAGE_SIZE = 10
_BUSY = {429, 503}
_REQUESTS = re.compile(r'^backoffice_requests_total\{.*route="([^"]*)".*\} (\S+)$', re.MULTILINE)
_EXPECTED = {200, 201, 404, 409, 422}


class RequestRefused(Exception):
    """Raised when the store does not accept a request that fills it."""


@dataclass
class StoreApi:
    """Sends requests with one access token, and again if the store is busy. Threads can share an instance."""

    port: int
    token: str
    statuses: Counter[int] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def send(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Return the status and the response."""
        headers = {f"X-{BRAND.capitalize()}-Access-Token": self.token, "Content-Type": "application/json"}
        # The writers of the tests use the default brand.
        data = None if body is None else json.dumps(body).replace('"platform"', f'"{BRAND}"')
        while True:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
            connection.request(method, PREFIX + path, data, headers)
            response = connection.getresponse()
            content = response.read()
            connection.close()
            with self._lock:
                self.statuses[response.status] += 1
            if response.status not in _BUSY:
                return response.status, json.loads(content)
            time.sleep(float(response.headers.get("Retry-After", "0.5")))

    def create(self, path: str, name: str, values: JsonObject) -> JsonObject:
        """Create an object and return it.

        Raises:
            RequestRefused: The store does not accept the object.
        """
        created: JsonObject = self.request("POST", f"{path}.json", {name: values})[name]
        return created

    def request(self, method: str, path: str, body: object = None) -> Any:
        status, response = self.send(method, path, body)
        if status not in {200, 201, 202}:
            raise RequestRefused(f"{method} {path}: {status} {response} for {body}")
        return response

    def iterate(self, plural: str, query: str = "") -> Iterator[JsonObject]:
        """Yield all objects of a list."""
        since = 0
        while rows := self.request("GET", f"{plural}.json?limit=250&since_id={since}{query}")[plural]:
            yield from rows
            since = rows[-1]["id"]


class WholeStoreWriter(RandomWriter):
    """Chooses objects from the whole store, instead of from its first page."""

    def __init__(self, api: StoreApi, seed: int, location_ids: list[int]) -> None:
        super().__init__(api.send, seed, location_ids)
        self._ranges: dict[str, tuple[int, int]] = {}

    def pick(self, plural: str, query: str = "") -> JsonObject | None:
        first, count = self._ranges.get(plural) or self._read_range(plural, query)
        since = first + self._chance.randint(-1, count)
        rows = self.call("GET", f"{plural}.json?limit={PAGE_SIZE}&since_id={since}{query}")
        members = next(iter(rows.values())) if rows else []
        return self._chance.choice(members) if members else None

    def pick_fulfillment(self) -> JsonObject | None:
        order = self.pick_order()
        return self._chance.choice(order["fulfillments"]) if order and order["fulfillments"] else None

    def _read_range(self, plural: str, query: str) -> tuple[int, int]:
        """Return the lowest ID of a list and the number of its objects. Nearly all IDs in between exist."""
        rows = self.call("GET", f"{plural}.json?limit=1&since_id=0{query}") or {plural: []}
        count = self.call("GET", f"{plural}/count.json?{query}") or {"count": 0}
        if not rows[plural]:
            return 0, 0
        self._ranges[plural] = rows[plural][0]["id"], count["count"]
        return self._ranges[plural]


@dataclass(frozen=True)
class Writers:
    """Writers that run at the same time, each with its own access token."""

    apis: list[StoreApi]
    writers: list[WholeStoreWriter]

    @property
    def statuses(self) -> Counter[int]:
        return sum((api.statuses for api in self.apis), Counter[int]())

    @property
    def unexpected_statuses(self) -> dict[int, int]:
        return {status: count for status, count in self.statuses.items() if status not in _EXPECTED}

    @property
    def writes(self) -> int:
        counts = [item for writer in self.writers for item in writer.statuses.items()]
        return sum(count for (call, status), count in counts if status in {200, 201} and not call.startswith("GET "))


@contextmanager
def run_writers(port: int, tokens: list[str], seed: int) -> Iterator[Writers]:
    """Change the store during the block, with one thread for each token."""
    apis = [StoreApi(port, token) for token in tokens]
    locations = [row["id"] for row in apis[0].request("GET", "locations.json")["locations"]]
    is_over, errors = threading.Event(), list[Exception]()
    writers = [WholeStoreWriter(api, seed + number, locations) for number, api in enumerate(apis)]

    def write(writer: WholeStoreWriter) -> None:
        try:
            while not is_over.wait(PAUSE_SECONDS):
                writer.write()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(writer,), daemon=True) for writer in writers]
    for thread in threads:
        thread.start()
    try:
        yield Writers(apis, writers)
    finally:
        is_over.set()
        for thread in threads:
            thread.join(180)
    if errors:
        raise errors[0]


def count_requests(port: int, metrics_token: str) -> Counter[str]:
    """Return how many requests the web processes have handled, by route."""
    headers = {"Authorization": f"Bearer {metrics_token}"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers=headers)
    with urllib.request.urlopen(request, timeout=30) as response:
        text = response.read().decode()
    counts = Counter[str]()
    for route, number in _REQUESTS.findall(text):
        counts[route] += int(float(number))
    return counts
