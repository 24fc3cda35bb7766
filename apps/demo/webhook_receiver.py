"""A local webhook receiver for tests and development, which checks signatures and records requests.

Like an app, the receiver checks signatures with the app's secret. ``manage.py webhook_receiver`` and the tests use this
module.
"""

import base64
import hashlib
import hmac
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

MAX_BODY = 8 * 1024 * 1024
# The maximum age of a request in seconds. As Standard Webhooks recommends, older requests are refused.
TOLERANCE_SECONDS = 300


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A received request. ``verified`` maps each signature header to True if the signature is valid."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    verified: Mapping[str, bool]

    def get_header(self, suffix: str) -> str:
        """Return the first header with a name that ends in ``suffix``, ignoring case, or "" if there is none."""
        return next((value for name, value in self.headers.items() if name.lower().endswith(suffix.lower())), "")


@dataclass(slots=True)
class ReceiverBehavior:
    """The configured responses of a receiver. After ``failure_count`` requests (None: never), the status is 200."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_seconds: float = 0.0
    failure_count: int | None = None

    def next_status(self) -> int:
        """Return the status of the next response, and count the request."""
        if self.failure_count is None:
            return self.status
        self.failure_count -= 1
        return self.status if self.failure_count >= 0 else 200


class LocalServer(ThreadingHTTPServer):
    """An HTTP server with a thread per connection. The backlog has room for all connections of a dispatcher."""

    daemon_threads = True
    request_queue_size = 256


class LocalHandler(BaseHTTPRequestHandler):
    """Handles the requests to a local server, and logs nothing."""

    protocol_version = "HTTP/1.1"
    timeout = 60

    def read_body(self, limit: int) -> bytes:
        return self.rfile.read(min(int(self.headers.get("Content-Length", "0")), limit))

    def respond(self, status: int, headers: Mapping[str, str], body: bytes = b"") -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except ConnectionError:
            self.close_connection = True


class WebhookReceiver:
    """A receiver on the loopback interface. As a context manager, it serves requests until the block ends.

    ``behavior`` can be changed at any time. Without secrets, signatures are not checked. ``on_request`` is called with
    each request and the status of its response.
    """

    def __init__(
        self,
        secrets: Sequence[str] = (),
        *,
        port: int = 0,
        behavior: ReceiverBehavior | None = None,
        on_request: Callable[[ReceivedRequest, int], None] | None = None,
    ) -> None:
        self.secrets, self.behavior, self.on_request = secrets, behavior or ReceiverBehavior(), on_request
        self.requests: list[ReceivedRequest] = []
        self._server = LocalServer(("127.0.0.1", port), _create_handler(self))
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/"

    def __enter__(self) -> Self:
        threading.Thread(target=self.listen, daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def listen(self) -> None:
        self._server.serve_forever(0.05)

    def wait_for(self, count: int, *, seconds: float = 60.0) -> list[ReceivedRequest]:
        """Wait until at least ``count`` requests have arrived, and return all requests, or raise ``TimeoutError``."""
        until = time.monotonic() + seconds
        while len(self.requests) < count:
            if time.monotonic() > until:
                raise TimeoutError(f"got {len(self.requests)} of {count} requests")
            time.sleep(0.005)
        return self.requests


def verify_signatures(headers: Mapping[str, str], body: bytes, secrets: Sequence[str]) -> dict[str, bool]:
    """Check each signature header of a request against an app's secrets. Return the results, keyed by header."""
    by_name = {name.lower(): value for name, value in headers.items()}
    body_signature = next((value for name, value in by_name.items() if name.endswith("-hmac-sha256")), "")
    message_id, timestamp = by_name.get("webhook-id", ""), by_name.get("webhook-timestamp", "")
    signed = b".".join((message_id.encode(), timestamp.encode(), body))
    signatures = [part.removeprefix("v1,") for part in by_name.get("webhook-signature", "").split(" ")]
    is_recent = timestamp.isdigit() and abs(time.time() - int(timestamp)) < TOLERANCE_SECONDS
    return {
        "X-Hmac-Sha256": any(hmac.compare_digest(_signature(secret, body), body_signature) for secret in secrets),
        "webhook-signature": is_recent
        and any(
            hmac.compare_digest(_signature(secret, signed), signature) for secret in secrets for signature in signatures
        ),
    }


def _signature(secret: str, signed: bytes) -> str:
    return base64.b64encode(hmac.digest(secret.encode(), signed, hashlib.sha256)).decode()


def _create_handler(catcher: WebhookReceiver) -> type[LocalHandler]:
    class Handler(LocalHandler):
        def do_POST(self) -> None:
            body = self.read_body(MAX_BODY)
            headers = dict(self.headers.items())
            verified = verify_signatures(headers, body, catcher.secrets) if catcher.secrets else {}
            caught = ReceivedRequest(self.path, headers, body, verified)
            catcher.requests.append(caught)
            behavior = catcher.behavior
            if behavior.delay_seconds:
                time.sleep(behavior.delay_seconds)
            # Respond with 401 if a signature is invalid, as real apps do.
            status = behavior.next_status() if all(verified.values()) else 401
            self.respond(status, behavior.headers)
            if catcher.on_request:
                catcher.on_request(caught, status)

    return Handler
