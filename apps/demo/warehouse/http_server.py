"""The HTTP server that receives callbacks and verifies their signatures with the app's secret."""

import time
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

import orjson

from apps.demo.webhook_receiver import verify_signatures

MAX_BODY = 64 * 1024


class CallbackHandler(Protocol):
    """An object that handles the requests to the server."""

    secrets: Sequence[str]

    def record_call(self, call: str) -> float:
        """Record a call and return the number of seconds to wait before responding."""

    def handle_notification(self, kind: str) -> None:
        """Handle a notification."""

    def get_response(self, path: str, query: Mapping[str, Sequence[str]]) -> tuple[int, bytes]:
        """Return the status and body for a request."""


class CallbackServer(ThreadingHTTPServer):
    """An HTTP server on localhost that passes requests to a handler.

    Attributes:
        url: The base URL of the server.
    """

    daemon_threads = True

    def __init__(self, handler: CallbackHandler, port: int) -> None:
        """Listen on a port. Port 0 selects a free port."""
        super().__init__(("127.0.0.1", port), _Handler)
        self.handler = handler
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"


class _Handler(BaseHTTPRequestHandler):
    server: CallbackServer
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_POST(self) -> None:
        body = self.rfile.read(min(int(self.headers.get("Content-Length", "0")), MAX_BODY))
        if self._is_signed(body):
            self._respond(200, b"{}")
            self.server.handler.handle_notification(_parse_kind(body))

    def do_GET(self) -> None:
        if self._is_signed(b""):
            parts = urlsplit(self.path)
            self._respond(*self.server.handler.get_response(parts.path, parse_qs(parts.query)))

    def _is_signed(self, body: bytes) -> bool:
        """Verify the signature. If the signature is wrong, respond with 401 and return False."""
        time.sleep(self.server.handler.record_call(f"{self.command} {self.path}"))
        if all(verify_signatures(dict(self.headers.items()), body, self.server.handler.secrets).values()):
            return True
        self._respond(401, b"{}")
        return False

    def _respond(self, status: int, body: bytes) -> None:
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Do nothing, because the handler logs the calls."""

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except ConnectionError:
            self.close_connection = True


def _parse_kind(body: bytes) -> str:
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    return str(content.get("kind")) if isinstance(content, dict) else ""
