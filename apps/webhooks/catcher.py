"""A receiver to try webhooks with: listens on loopback, checks signatures, keeps what came, and behaves as it is told.

It checks as an app would: by the app's secret and nothing else. Used by ``manage.py webhook_catcher`` and by tests.
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
# Deliveries older than this are refused by receivers that follow Standard Webhooks.
TOLERANCE_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Caught:
    """A request that came.

    Attributes:
        verified: Whether each signature holds, by the name of its header.
    """

    path: str
    headers: Mapping[str, str]
    body: bytes
    verified: Mapping[str, bool]

    def header(self, end: str) -> str:
        """The header whose name ends so, e.g. ``-Topic``, in whatever case; blank where there is none."""
        return next((value for name, value in self.headers.items() if name.lower().endswith(end.lower())), "")


@dataclass(slots=True)
class Behaviour:
    """How requests are answered.

    Attributes:
        status: The status of answers.
        headers: Further headers, e.g. ``Retry-After``.
        hang: Seconds before an answer.
        failing: How many requests are answered with ``status`` before the rest get 200; None for all of them.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    hang: float = 0.0
    failing: int | None = None

    def next_status(self) -> int:
        """The status of the next answer."""
        if self.failing is None:
            return self.status
        self.failing -= 1
        return self.status if self.failing >= 0 else 200


class _Server(ThreadingHTTPServer):
    """A thread for each connection, and room for as many that come at once as a dispatcher opens."""

    daemon_threads = True
    request_queue_size = 256


class Catcher:
    """A receiver on loopback; a context manager that listens while it is open.

    Attributes:
        caught: What came, in its order.
        behaviour: How it answers; may be changed at any time.
    """

    def __init__(
        self,
        secrets: Sequence[str] = (),
        *,
        port: int = 0,
        behaviour: Behaviour | None = None,
        heard: Callable[[Caught, int], None] | None = None,
    ) -> None:
        """Listen on a port, a free one by default.

        Args:
            secrets: Those of the app; without any, nothing is checked.
            port: Where.
            behaviour: How it answers.
            heard: Called with each request and the status of its answer.
        """
        self.secrets, self.behaviour, self.heard = secrets, behaviour or Behaviour(), heard
        self.caught: list[Caught] = []
        self._server = _Server(("127.0.0.1", port), _handler(self))
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/"

    def __enter__(self) -> Self:
        threading.Thread(target=self.listen, daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def listen(self) -> None:
        """Take requests until told to stop."""
        self._server.serve_forever(0.05)

    def wait_for(self, count: int, *, seconds: float = 10.0) -> list[Caught]:
        """What came, once it is so much.

        Raises:
            TimeoutError: It did not come.
        """
        until = time.monotonic() + seconds
        while len(self.caught) < count:
            if time.monotonic() > until:
                raise TimeoutError(f"{len(self.caught)} of {count} came")
            time.sleep(0.005)
        return self.caught


def verify(headers: Mapping[str, str], body: bytes, secrets: Sequence[str]) -> dict[str, bool]:
    """Whether each signature of a request holds under one of an app's secrets."""
    by_name = {name.lower(): value for name, value in headers.items()}
    own = next((value for name, value in by_name.items() if name.endswith("-hmac-sha256")), "")
    key, timestamp = by_name.get("webhook-id", ""), by_name.get("webhook-timestamp", "")
    signed = b".".join((key.encode(), timestamp.encode(), body))
    given = [part.removeprefix("v1,") for part in by_name.get("webhook-signature", "").split(" ")]
    fresh = timestamp.isdigit() and abs(time.time() - int(timestamp)) < TOLERANCE_SECONDS
    return {
        "X-Hmac-Sha256": any(hmac.compare_digest(_signature(secret, body), own) for secret in secrets),
        "webhook-signature": fresh
        and any(hmac.compare_digest(_signature(secret, signed), each) for secret in secrets for each in given),
    }


def _signature(secret: str, signed: bytes) -> str:
    return base64.b64encode(hmac.digest(secret.encode(), signed, hashlib.sha256)).decode()


def _handler(catcher: Catcher) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 60

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            body = self.rfile.read(min(length, MAX_BODY))
            headers = dict(self.headers.items())
            verified = verify(headers, body, catcher.secrets) if catcher.secrets else {}
            caught = Caught(self.path, headers, body, verified)
            catcher.caught.append(caught)
            behaviour = catcher.behaviour
            if behaviour.hang:
                time.sleep(behaviour.hang)
            # A receiver answers 401 to what it cannot verify.
            status = behaviour.next_status() if all(verified.values()) else 401
            self._answer(status, behaviour.headers)
            if catcher.heard:
                catcher.heard(caught, status)

        def _answer(self, status: int, headers: Mapping[str, str]) -> None:
            self.send_response_only(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """The command says what came."""

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except ConnectionError:
                self.close_connection = True

    return Handler
