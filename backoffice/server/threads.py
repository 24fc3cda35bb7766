"""The thread pool that runs the application and builds responses.

A response is computed completely before it is sent. The length is therefore always known, and no thread waits for a
client. Long responses are written to a temporary file.
"""

import contextlib
import logging
import tempfile
import threading
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus
from typing import IO, Any

from backoffice.server.door import Door, Environ, Headers
from backoffice.server.turns import FairQueue

logger = logging.getLogger("backoffice.server")

Application = Callable[..., Iterable[bytes]]

# The maximum number of queued requests per thread, and the maximum time in the queue. Further requests are rejected,
# so that the queued requests are served in time.
WAITING_PER_THREAD = 32
WAITING_SECONDS = 10.0
RETRY_AFTER = ("Retry-After", "1")
# If a response consists of several chunks and is longer than this, it is written to a temporary file.
MEMORY_BYTES = 1024 * 1024

_BODILESS = {204, 304}


@dataclass(slots=True)
class Answer:
    """A response. ``data`` contains the head and a short body. ``file`` contains a long body."""

    data: bytes
    keep_alive: bool
    file: IO[bytes] | None = None


class Job:
    """A request for the thread pool. ``answered`` is called with the response."""

    __slots__ = ("answered", "environ", "keep_alive", "owner", "since")

    def __init__(
        self, environ: Environ, answered: Callable[[Answer | None], None], *, owner: Hashable, keep_alive: bool
    ) -> None:
        self.environ = environ
        self.owner = owner
        self.keep_alive = keep_alive
        self.answered = answered
        self.since = time.monotonic()


class Threads:
    """A thread pool. Threads live as long as the process, so that each thread keeps its database connection."""

    def __init__(self, application: Application, door: Door, number: int) -> None:
        self._application = application
        self._door = door
        self._threads = [
            threading.Thread(target=self._work, name=f"web-{index}", daemon=True) for index in range(number)
        ]
        self._most = number + number * WAITING_PER_THREAD
        self._queue: FairQueue[Job] = FairQueue(number, self._most)
        # The number of requests that are queued or running. Only the event loop changes this number.
        self.busy = 0
        self.stopping = False

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def take(self, owner: Hashable) -> bool:
        """Return True if the queue has room for another request of this owner."""
        return self.busy < self._most and self._queue.takes(owner)

    def submit(self, job: Job) -> None:
        """Queue a request. A thread calls ``job.answered`` once with the response."""
        self._queue.put(job)

    def stop(self, seconds: float) -> None:
        """Stop the threads, and wait at most ``seconds`` for all of them to finish."""
        self._queue.end(len(self._threads))
        until = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            if time.monotonic() - job.since > WAITING_SECONDS:
                response: Answer | None = build_error_response(
                    self._door, HTTPStatus.SERVICE_UNAVAILABLE, job.environ, keep_alive=job.keep_alive
                )
            else:
                response = self._run(job)
                self._door.answered(job.environ)
            self._queue.done(job)
            job.answered(response)
        self._door.leave()

    def _run(self, job: Job) -> Answer | None:
        try:
            return _Run(job, stopping=self.stopping).answer(self._application)
        except Exception:
            logger.exception("A request failed outside the application")
            with contextlib.suppress(Exception):
                return build_error_response(self._door, HTTPStatus.INTERNAL_SERVER_ERROR, job.environ, keep_alive=False)
            return None


class _Run:
    """A single call of the WSGI application."""

    __slots__ = ("_headers", "_job", "_status", "_stopping", "_written")

    def __init__(self, job: Job, *, stopping: bool) -> None:
        self._job = job
        self._stopping = stopping
        self._status = ""
        self._headers: Headers = []
        self._written: list[bytes] = []

    def _start_response(self, status: str, headers: Headers, exc_info: Any = None) -> Callable[[bytes], None]:
        self._status = status
        self._headers = headers
        return self._written.append

    def answer(self, application: Application) -> Answer:
        environ = self._job.environ
        chunks = application(environ, self._start_response)
        try:
            body, file, length = _collect_body(chunks, self._written)
        finally:
            close = getattr(chunks, "close", None)
            if close is not None:
                close()
        keep_alive = self._job.keep_alive and not self._stopping
        if environ["REQUEST_METHOD"] == "HEAD" or int(self._status[:3]) in _BODILESS:
            if file is not None:
                file.close()
            data, keep_alive = build_head(self._status, self._headers, None, environ, keep_alive=keep_alive)
            return Answer(data, keep_alive)
        data, keep_alive = build_head(self._status, self._headers, length, environ, keep_alive=keep_alive)
        return Answer(data + body, keep_alive, file)


def _collect_body(chunks: Iterable[bytes], written: list[bytes]) -> tuple[bytes, IO[bytes] | None, int]:
    """Return the body, either as bytes or as a file positioned at the start, and its length.

    Raises:
        OSError: The disk for temporary files is full.
    """
    parts = written
    length = sum(map(len, parts))
    pieces = iter(chunks)
    for chunk in pieces:
        parts.append(chunk)
        length += len(chunk)
        if length > MEMORY_BYTES and len(parts) > 1:
            break
    else:
        return (parts[0] if len(parts) == 1 else b"".join(parts)), None, length
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it is sent
    try:
        file.writelines(parts)
        file.writelines(pieces)
        length = file.tell()
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return b"", file, length


def build_head(
    status: str, headers: Headers, length: int | None, environ: Environ, *, keep_alive: bool
) -> tuple[bytes, bool]:
    """Return the head of a response, and True if the connection stays open.

    ``status`` is a string such as ``200 OK``, and ``length`` is the size of the body in bytes. If ``length`` is None,
    the body is not sent, and the application's own Content-Length is kept.
    """
    lines = [f"HTTP/1.1 {status}\r\n"]
    for name, value in headers:
        lower = name.lower()
        if lower == "content-length" and length is not None:
            continue
        if lower == "connection":
            keep_alive = keep_alive and value.lower() != "close"
            continue
        lines.append(f"{name}: {value}\r\n")
    if length is not None:
        lines.append(f"Content-Length: {length}\r\n")
    if not keep_alive:
        lines.append("Connection: close\r\n")
    elif environ.get("SERVER_PROTOCOL") == "HTTP/1.0":
        lines.append("Connection: keep-alive\r\n")
    lines.append(_date())
    return "".join(lines).encode("latin-1"), keep_alive


def build_error_response(door: Door, status: HTTPStatus, environ: Environ, *, keep_alive: bool) -> Answer:
    """Build the error response for a request that is not passed to the application."""
    headers, body = door.refusal(status)
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers = [*headers, RETRY_AFTER]
    return build_response(status, headers, body, environ, keep_alive=keep_alive)


def build_response(status: HTTPStatus, headers: Headers, body: bytes, environ: Environ, *, keep_alive: bool) -> Answer:
    """Build a response with a short body."""
    data, keep_alive = build_head(f"{status.value} {status.phrase}", headers, len(body), environ, keep_alive=keep_alive)
    return Answer(data if environ.get("REQUEST_METHOD") == "HEAD" else data + body, keep_alive)


_date_line = (0.0, "")


def _date() -> str:
    """Return the ``Date`` header and the blank line that ends the head. The result is rebuilt once a second."""
    global _date_line
    now = float(int(time.time()))
    built_at, line = _date_line
    if built_at != now:
        line = f"Date: {formatdate(now, usegmt=True)}\r\n\r\n"
        _date_line = (now, line)
    return line
