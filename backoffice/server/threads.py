"""The threads that run the application, and what they make of an answer.

An answer is computed whole before it is sent, so its length is always known and no thread waits for a reader. What is
long goes to a temporary file.
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

# How many requests may wait for a thread, and how long; beyond that they are refused, so that the others are served
# in time.
WAITING_PER_THREAD = 32
WAITING_SECONDS = 10.0
RETRY_AFTER = ("Retry-After", "1")
# An answer in pieces that is longer goes to a temporary file.
MEMORY_BYTES = 1024 * 1024

_BODILESS = {204, 304}


@dataclass(slots=True)
class Answer:
    """What goes out: the head together with a short body, and the file of a long one."""

    data: bytes
    keep_alive: bool
    file: IO[bytes] | None = None


class Job:
    """A request that waits for a thread."""

    __slots__ = ("answered", "environ", "keep_alive", "since", "whose")

    def __init__(
        self, environ: Environ, answered: Callable[[Answer | None], None], *, whose: Hashable, keep_alive: bool
    ) -> None:
        self.environ = environ
        self.whose = whose
        self.keep_alive = keep_alive
        self.answered = answered
        self.since = time.monotonic()


class Threads:
    """Threads that live as long as the process, so that each keeps its database connection."""

    def __init__(self, application: Application, door: Door, number: int) -> None:
        self._application = application
        self._door = door
        self._threads = [
            threading.Thread(target=self._work, name=f"web-{index}", daemon=True) for index in range(number)
        ]
        self._most = number + number * WAITING_PER_THREAD
        self._queue: FairQueue[Job] = FairQueue(number, self._most)
        # Requests in the queue or in work; counted by the event loop alone.
        self.busy = 0
        self.stopping = False

    def start(self) -> None:
        """Start them all."""
        for thread in self._threads:
            thread.start()

    def take(self, whose: Hashable) -> bool:
        """Whether there is a place for another request of theirs; it would wait too long otherwise."""
        return self.busy < self._most and self._queue.takes(whose)

    def submit(self, job: Job) -> None:
        """Queue a request; its ``answered`` is called once, in a thread."""
        self._queue.put(job)

    def stop(self, seconds: float) -> None:
        """End the threads; one that hangs is left behind."""
        self._queue.end(len(self._threads))
        until = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            if time.monotonic() - job.since > WAITING_SECONDS:
                answer: Answer | None = refusal(
                    self._door, HTTPStatus.SERVICE_UNAVAILABLE, job.environ, keep_alive=job.keep_alive
                )
            else:
                answer = self._run(job)
                self._door.answered(job.environ)
            self._queue.done(job)
            job.answered(answer)
        self._door.leave()

    def _run(self, job: Job) -> Answer | None:
        try:
            return _Run(job, stopping=self.stopping).answer(self._application)
        except Exception:
            logger.exception("A request failed outside of the application")
            with contextlib.suppress(Exception):
                return refusal(self._door, HTTPStatus.INTERNAL_SERVER_ERROR, job.environ, keep_alive=False)
            return None


class _Run:
    """One call of the application."""

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
            body, file, length = _collected(chunks, self._written)
        finally:
            close = getattr(chunks, "close", None)
            if close is not None:
                close()
        keep_alive = self._job.keep_alive and not self._stopping
        if environ["REQUEST_METHOD"] == "HEAD" or int(self._status[:3]) in _BODILESS:
            if file is not None:
                file.close()
            data, keep_alive = head(self._status, self._headers, None, environ, keep_alive=keep_alive)
            return Answer(data, keep_alive)
        data, keep_alive = head(self._status, self._headers, length, environ, keep_alive=keep_alive)
        return Answer(data + body, keep_alive, file)


def _collected(chunks: Iterable[bytes], written: list[bytes]) -> tuple[bytes, IO[bytes] | None, int]:
    """The body in memory or as a file at its beginning, and its length.

    Raises:
        OSError: The disk for long ones is full.
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


def head(
    status: str, headers: Headers, length: int | None, environ: Environ, *, keep_alive: bool
) -> tuple[bytes, bool]:
    """The head of an answer, its headers' names as they are written, and whether the connection goes on.

    ``status`` is such as ``200 OK``, ``length`` the body's in bytes; None keeps the application's word, where the body
    is not sent.
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


def refusal(door: Door, status: HTTPStatus, environ: Environ, *, keep_alive: bool) -> Answer:
    """The answer to a request that does not reach the application."""
    headers, body = door.refusal(status)
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers = [*headers, RETRY_AFTER]
    return complete(status, headers, body, environ, keep_alive=keep_alive)


def complete(status: HTTPStatus, headers: Headers, body: bytes, environ: Environ, *, keep_alive: bool) -> Answer:
    """A short answer."""
    data, keep_alive = head(f"{status.value} {status.phrase}", headers, len(body), environ, keep_alive=keep_alive)
    return Answer(data if environ.get("REQUEST_METHOD") == "HEAD" else data + body, keep_alive)


_date_line = (0.0, "")


def _date() -> str:
    """The ``Date`` header and the end of the head, made once a second."""
    global _date_line
    now = float(int(time.time()))
    made, line = _date_line
    if made != now:
        line = f"Date: {formatdate(now, usegmt=True)}\r\n\r\n"
        _date_line = (now, line)
    return line
