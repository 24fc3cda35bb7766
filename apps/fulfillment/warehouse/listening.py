"""How the warehouse is called: every request is checked as an app would, by the app's secret."""

import time
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

import orjson

from apps.webhooks.catcher import verify

MAX_BODY = 64 * 1024


class Called(Protocol):
    """Who is called."""

    secrets: Sequence[str]

    def comes(self, call: str) -> float:
        """Note a call; returns the seconds to wait before it is answered."""

    def told(self, kind: str) -> None:
        """Take a notification."""

    def asked(self, path: str, query: Mapping[str, Sequence[str]]) -> tuple[int, bytes]:
        """The status and body of the answer to a question."""


class Listener(ThreadingHTTPServer):
    """A server on loopback for one that is called.

    Attributes:
        url: Where it listens.
    """

    daemon_threads = True

    def __init__(self, called: Called, port: int) -> None:
        """Listen on a port, a free one if it is 0."""
        super().__init__(("127.0.0.1", port), _Handler)
        self.called = called
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"


class _Handler(BaseHTTPRequestHandler):
    server: Listener
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_POST(self) -> None:
        body = self.rfile.read(min(int(self.headers.get("Content-Length", "0")), MAX_BODY))
        if self._is_signed(body):
            self._answer(200, b"{}")
            self.server.called.told(_kind_of(body))

    def do_GET(self) -> None:
        if self._is_signed(b""):
            parts = urlsplit(self.path)
            self._answer(*self.server.called.asked(parts.path, parse_qs(parts.query)))

    def _is_signed(self, body: bytes) -> bool:
        """Whether the app's secret signed it; what it did not sign is answered here."""
        time.sleep(self.server.called.comes(f"{self.command} {self.path}"))
        if all(verify(dict(self.headers.items()), body, self.server.called.secrets).values()):
            return True
        self._answer(401, b"{}")
        return False

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Who is called says what came."""

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except ConnectionError:
            self.close_connection = True


def _kind_of(body: bytes) -> str:
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    return str(content.get("kind")) if isinstance(content, dict) else ""
