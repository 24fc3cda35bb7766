"""Run a WSGI application behind an ASGI server.

The event loop reads a request completely before a thread handles it, and sends the response after the thread has
computed it. A slow client therefore occupies a socket, but no thread, lock or database connection. The threads live as
long as the process, so that each thread keeps its database connection. ``Hooks`` connects the adapter with the product.
"""

import asyncio
import contextlib
import io
import logging
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from http import HTTPStatus
from typing import IO, Any

from backoffice.server.fair_queue import FairQueue
from backoffice.server.wsgi import (
    MEMORY_BYTES,
    Application,
    Environ,
    Headers,
    Response,
    Scope,
    build_environ,
    build_response,
    call_application,
    names_host,
)

logger = logging.getLogger("backoffice.server")

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

BODY_SECONDS = 30.0
BODY_SILENCE_SECONDS = 8.0
# The maximum total size of large bodies in a process. Only received bytes count. Otherwise, a client could block others
# by merely announcing large bodies. Bodies of up to SMALL_BODY bytes do not count.
RECEIVING_BYTES = 512 * 1024 * 1024
SMALL_BODY = 64 * 1024
# A piece of a body counts as at least this many bytes, because many short pieces (chunks) take more time than memory.
LEAST_CHARGE = 2048
# After an early error, the rest of the body is read and discarded for a while, because a client that is still sending
# would not receive the response. Unknown senders get less, because even discarding costs CPU time.
DISCARD_SECONDS = 30.0
DISCARD_SILENCE_SECONDS = 2.0
DISCARD_BYTES = 256 * 1024 * 1024
DISCARD_BYTES_OF_UNKNOWN = 1024 * 1024
# The maximum number of queued requests per thread, and the maximum time in the queue. Further requests are rejected,
# so that the queued requests are served in time.
WAITING_PER_THREAD = 32
WAITING_SECONDS = 10.0

_CHUNK_BYTES = 256 * 1024


class Hooks:
    """Default hooks, which an application can override.

    ``find_sender_error``, ``answered`` and ``leave`` run in a thread. All others run in the event loop.
    """

    def find_error(self, environ: Environ) -> HTTPStatus | None:
        """Return the status with which to reject a request before its body is read, or None."""
        return None

    def get_body_limit(self, environ: Environ) -> int:
        """Return the maximum size of a body without an announced length."""
        return SMALL_BODY

    def find_sender_error(self, environ: Environ) -> tuple[HTTPStatus, Headers, bytes] | None:
        """Return the response to a large body of an unknown sender, or None. Called before the body is read."""
        return None

    def refusal(self, status: HTTPStatus) -> tuple[Headers, bytes]:
        """Return the headers and the body of an error response of the server itself."""
        return [("Content-Type", "text/plain; charset=utf-8")], status.phrase.encode()

    def at_once(self, environ: Environ) -> tuple[HTTPStatus, Headers, bytes] | None:
        """Return a response that needs no thread, or None."""
        return None

    def owner(self, environ: Environ) -> Hashable:
        """Return a key that identifies the request's owner, or None. Threads are distributed fairly among owners."""
        return None

    def answered(self, environ: Environ) -> None:
        """Handle the end of a request in the request's thread. The application may have added data to ``environ``."""

    def leave(self) -> None:
        """Clean up at the end of a thread. Called in the thread itself."""


class Refused(Exception):
    """Raised when a request is rejected before it reaches the application."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status)
        self.response = response


@dataclass(slots=True, eq=False)
class Job:
    """A task for the threads: to handle a request, or to check its sender."""

    environ: Environ
    work: Callable[[Environ], Response | None]
    owner: Hashable
    since: float
    done: "asyncio.Future[Response | None]"


class Adapter:
    """The ASGI application. Its threads start with the server's ``lifespan`` event."""

    def __init__(self, application: Application, hooks: Hooks, *, threads: int) -> None:
        self._application = application
        self._hooks = hooks
        self._threads = [threading.Thread(target=self._work, name=f"web-{n}", daemon=True) for n in range(threads)]
        self._most = threads + threads * WAITING_PER_THREAD
        self._queue: FairQueue[Job] = FairQueue(threads, self._most)
        # The number of requests that are queued or running, and the received bytes of large bodies. Only the event loop
        # changes these numbers.
        self._busy = 0
        self._receiving = 0
        self._loop: asyncio.AbstractEventLoop

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request or the start and stop of the server. Other kinds of connections are rejected."""
        if scope["type"] == "http":
            await self._handle_request(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._run_lifespan(receive, send)

    async def _run_lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        self._loop = asyncio.get_running_loop()
        for thread in self._threads:
            thread.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self._queue.end(len(self._threads))
        await asyncio.to_thread(self._join)
        await send({"type": "lifespan.shutdown.complete"})

    def _join(self) -> None:
        until = time.monotonic() + 1
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    async def _handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        environ = build_environ(scope)
        is_known, is_chunked = False, _remove_chunked_coding(environ)
        try:
            if not names_host(environ):
                raise Refused(self.refuse(HTTPStatus.BAD_REQUEST))
            if (quick := self._hooks.at_once(environ)) is not None:
                return await _send_response(build_response(*quick), environ, send)
            error = self._hooks.find_error(environ)
            limit = self._hooks.get_body_limit(environ) if is_chunked else int(environ.get("CONTENT_LENGTH") or 0)
            if limit > SMALL_BODY and self._hooks.get_body_limit(environ) > SMALL_BODY:
                refusal = await self._run_in_thread(environ, self._check_sender)
                is_known = refusal is None
                if refusal is not None and error is None and not is_chunked:
                    raise Refused(refusal)
                if refusal is not None and is_chunked:
                    limit = SMALL_BODY
            if error is not None:
                raise Refused(self.refuse(error))
            if not limit:
                environ["wsgi.input"] = io.BytesIO()
                return await self._respond(environ, send)
            with contextlib.ExitStack() as released:
                environ["wsgi.input"], size = await self._receive_body(limit, receive, released)
                environ["CONTENT_LENGTH"] = str(size)
                await self._respond(environ, send)
        except Refused as refused:
            response = refused.response
            response.headers.append((b"Connection", b"close"))
            await _send_response(response, environ, send)
            if (is_chunked or environ.get("CONTENT_LENGTH")) and "HTTP_EXPECT" not in environ:
                await _discard_body(receive, DISCARD_BYTES if is_known else DISCARD_BYTES_OF_UNKNOWN)

    async def _respond(self, environ: Environ, send: Send) -> None:
        response = await self._run_in_thread(environ, self._run)
        if response is not None:
            await _send_response(response, environ, send)

    def refuse(self, status: HTTPStatus) -> Response:
        """Return the response for a request that is rejected."""
        headers, body = self._hooks.refusal(status)
        if status == HTTPStatus.SERVICE_UNAVAILABLE:
            headers = [*headers, ("Retry-After", "1")]
        return build_response(status, headers, body)

    async def _receive_body(
        self, limit: int, receive: Receive, released: contextlib.ExitStack
    ) -> tuple[IO[bytes], int]:
        """Return the body of a request as a file, and its size, which ``released`` gives back at the end.

        Raises:
            Refused: The body is larger than ``limit``, does not arrive in time, or the process is already receiving too
                many large bodies.
        """
        size = charged = 0
        released.callback(lambda: self._give_back(charged))
        until = self._loop.time() + BODY_SECONDS
        # Do not close the file here, because a thread may still read it after the client has left.
        spool = tempfile.SpooledTemporaryFile(MEMORY_BYTES)  # noqa: SIM115
        try:
            async with asyncio.timeout(BODY_SILENCE_SECONDS) as deadline:
                more = True
                while more:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise Refused(self.refuse(HTTPStatus.BAD_REQUEST))
                    chunk, more = message["body"], message["more_body"]
                    size += len(chunk)
                    if size > limit:
                        raise Refused(self.refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE))
                    if limit > SMALL_BODY:
                        charge = max(len(chunk), LEAST_CHARGE)
                        if self._receiving + charge > RECEIVING_BYTES:
                            raise Refused(self.refuse(HTTPStatus.SERVICE_UNAVAILABLE))
                        self._receiving += charge
                        charged += charge
                    spool.write(chunk)
                    deadline.reschedule(min(self._loop.time() + BODY_SILENCE_SECONDS, until))
        except TimeoutError:
            raise Refused(self.refuse(HTTPStatus.REQUEST_TIMEOUT)) from None
        except OSError:
            logger.exception("The body of a request cannot be stored")
            raise Refused(self.refuse(HTTPStatus.SERVICE_UNAVAILABLE)) from None
        spool.seek(0)
        return spool, size

    def _give_back(self, size: int) -> None:
        self._receiving -= size

    async def _run_in_thread(self, environ: Environ, work: Callable[[Environ], Response | None]) -> Response | None:
        owner = self._hooks.owner(environ)
        if self._busy >= self._most or not self._queue.takes(owner):
            return self.refuse(HTTPStatus.SERVICE_UNAVAILABLE)
        self._busy += 1
        job = Job(environ, work, owner, time.monotonic(), self._loop.create_future())
        self._queue.put(job)
        return await job.done

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            response: Response | None
            if time.monotonic() - job.since > WAITING_SECONDS:
                response = self.refuse(HTTPStatus.SERVICE_UNAVAILABLE)
            else:
                response = self._run_job(job)
            self._queue.done(job)
            self._loop.call_soon_threadsafe(self._finish, job, response)
        self._hooks.leave()

    def _run_job(self, job: Job) -> Response | None:
        try:
            return job.work(job.environ)
        except Exception:
            logger.exception("A request failed outside the application")
            return self.refuse(HTTPStatus.INTERNAL_SERVER_ERROR)

    def _run(self, environ: Environ) -> Response:
        try:
            return call_application(self._application, environ)
        finally:
            self._hooks.answered(environ)

    def _check_sender(self, environ: Environ) -> Response | None:
        error = self._hooks.find_sender_error(environ)
        return None if error is None else build_response(*error)

    def _finish(self, job: Job, response: Response | None) -> None:
        self._busy -= 1
        if not job.done.done():
            job.done.set_result(response)
        elif response is not None and response.file is not None:
            response.file.close()


def _remove_chunked_coding(environ: Environ) -> bool:
    """Return True if the body was chunked. The server has decoded it, so the application receives it like any other."""
    is_chunked: bool = environ.get("HTTP_TRANSFER_ENCODING", "").strip().lower() == "chunked"
    if is_chunked:
        del environ["HTTP_TRANSFER_ENCODING"]
    return is_chunked


async def _send_response(response: Response, environ: Environ, send: Send) -> None:
    """Send a response piece by piece. ``send`` waits while the client reads too slowly."""
    await send({"type": "http.response.start", "status": response.status, "headers": response.headers})
    body = b"" if environ["REQUEST_METHOD"] == "HEAD" else response.body
    with response.file or contextlib.nullcontext(io.BytesIO(body) if len(body) > _CHUNK_BYTES else None) as file:
        while file is not None and (chunk := file.read(_CHUNK_BYTES)):
            body = b""
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": body})


async def _discard_body(receive: Receive, most: int) -> None:
    """Read and discard the rest of a request's body, up to a size and for a limited time."""
    loop, discarded = asyncio.get_running_loop(), 0
    until = loop.time() + DISCARD_SECONDS
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DISCARD_SILENCE_SECONDS) as deadline:
            while discarded < most and (message := await receive()).get("more_body"):
                discarded += max(len(message["body"]), LEAST_CHARGE)
                deadline.reschedule(min(loop.time() + DISCARD_SILENCE_SECONDS, until))
