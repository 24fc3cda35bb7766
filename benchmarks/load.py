"""Send requests to servers: with wrk over 16 connections, or with a single connection."""

import http.client
import json
import shutil
import statistics
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("load.lua")
CONNECTIONS = 16
HEADER = "X-Platform-Access-Token"


class Unmeasurable(SystemExit):
    """Raised if a tool is missing or a server does not respond correctly, so that no wrong results are printed."""


@dataclass(frozen=True)
class Figures:
    """The result of one run of the load generator.

    Attributes:
        rate: Responses per second.
        p50, p99: Percentiles of the response time in milliseconds.
        web_ms, database_ms: CPU time per response in milliseconds.
    """

    rate: float
    p50: float
    p99: float
    requests: int
    bytes: int
    web_ms: float = 0.0
    database_ms: float = 0.0

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def require_wrk() -> None:
    if shutil.which("wrk") is None:
        raise Unmeasurable("The benchmark needs wrk: apt install wrk")


def run_load(port: int, kind: str, token: str, path: str, number: int, seconds: float, *more: str) -> Figures:
    """Send requests to a server for some seconds.

    Raises:
        Unmeasurable: A request failed, was interrupted or timed out, or there was no response.
    """
    command = ["wrk", "-t2", f"-c{CONNECTIONS}", f"-d{seconds:g}s", "--timeout", "20s", "-s", str(SCRIPT)]
    command += [f"http://127.0.0.1:{port}", "--", kind, token, path, str(number), *more]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    result = json.loads(output.rsplit("RESULT ", 1)[1])
    if result["refused"] or result["broken"] or not result["requests"]:
        counts = f"{result['refused']} responses were errors, {result['broken']} requests were broken off"
        raise Unmeasurable(f"{' '.join(command)}\n{output}\n{counts}")
    return Figures(
        rate=result["requests"] / result["microseconds"] * 1e6,
        p50=result["p50"] / 1000,
        p99=result["p99"] / 1000,
        requests=result["requests"],
        bytes=result["bytes"] // result["requests"],
    )


class Client:
    """A client with one persistent connection."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self._token = token

    def get(self, path: str) -> Any:
        """Return the JSON response for a path.

        Raises:
            Unmeasurable: The status is not 200 or 201.
        """
        return json.loads(self._fetch("GET", path)[1])

    def post(self, path: str, body: str) -> Any:
        return json.loads(self._fetch("POST", path, body)[1])

    def links(self, path: str) -> str:
        """Return the ``Link`` header of the response for a path."""
        return self._fetch("GET", path)[0].get("Link", "")

    def milliseconds(self, path: str, times: int) -> float:
        """Return the median response time in milliseconds, after a few warm-up requests."""
        durations = []
        for turn in range(times + 5):
            began = time.perf_counter()
            self._fetch("GET", path)
            if turn >= 5:
                durations.append((time.perf_counter() - began) * 1000)
        return statistics.median(durations)

    def close(self) -> None:
        self._connection.close()

    def _fetch(self, method: str, path: str, body: str | None = None) -> tuple[Any, bytes]:
        headers = {HEADER: self._token, "Content-Type": "application/json"}
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        content = response.read()
        if response.status not in {200, 201}:
            raise Unmeasurable(f"{method} {path} responded with {response.status}: {content[:300]!r}")
        return response.headers, content
