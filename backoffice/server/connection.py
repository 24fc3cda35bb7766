"""A client connection, which handles requests and responses in order. Every wait has a timeout.

``deadline`` is the end of the current wait, for example for the head or body of a request, or for the client to read
the response. There is no deadline while a thread works on a request.
"""

import asyncio
from collections import deque
from http import HTTPStatus
from math import inf
from typing import IO, Protocol, cast

import httptools

from backoffice.server.door import Door
from backoffice.server.reception import Reception, Refused
from backoffice.server.threads import Answer, Job, Threads, build_error_response, build_response

# These timeouts are in seconds. A proxy must close its idle connections before IDLE_SECONDS have passed.
FIRST_BYTE_SECONDS = 10.0
IDLE_SECONDS = 75.0
HEAD_SECONDS = 10.0
BODY_SECONDS = 30.0
BODY_SILENCE_SECONDS = 8.0
SEND_SILENCE_SECONDS = 30.0
# Bodies smaller than this do not count toward the process's limit for large bodies.
SMALL_BODY = 64 * 1024
# After an early error, the rest of the request is read and discarded for a while. If the socket were closed while bytes
# are unread, the client would not receive the response.
LINGER_SECONDS = 30.0
LINGER_SILENCE_SECONDS = 2.0
LINGER_BYTES = 256 * 1024 * 1024

_PIECE = 256 * 1024


class Process(Protocol):
    """The web process of a connection, with the state that its connections share."""

    door: Door
    threads: Threads
    environ: dict[str, object]
    connections: "dict[Connection, None]"
    idle_seconds: float
    closing: bool
    loop: asyncio.AbstractEventLoop

    def reserve(self, size: int) -> bool:
        """Count received bytes of a large body. Return False if the limit of the process is reached."""

    def give_back(self, size: int) -> None:
        """Subtract the bytes of a body that has been released."""


class Connection(asyncio.Protocol):
    __slots__ = (
        "_body_until",
        "_environ",
        "_file",
        "_half_closed",
        "_keep_alive",
        "_linger_bytes",
        "_linger_until",
        "_parser",
        "_paused",
        "_process",
        "_reception",
        "_refused",
        "_transport",
        "_unsent",
        "_waiting",
        "_working",
        "_writable",
        "deadline",
    )

    def __init__(self, process: Process) -> None:
        self._process = process
        self._parser = httptools.HttpRequestParser(self)
        self._reception: Reception | None = None
        self._waiting: deque[Reception] = deque()
        self._working: Reception | None = None
        self._refused: HTTPStatus | None = None
        self._keep_alive = True
        self._half_closed = False
        self._paused = False
        self._file: IO[bytes] | None = None
        self._body_until = 0.0
        self._linger_until = 0.0
        self._linger_bytes = 0
        self._unsent = 0
        self._writable = True
        self.deadline = process.loop.time() + FIRST_BYTE_SECONDS

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the new connection in its process."""
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self._environ = {**self._process.environ, "REMOTE_ADDR": peer[0] if peer else ""}
        self._process.connections[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Clean up. If a thread is still processing a request, the result is discarded."""
        self._process.connections.pop(self, None)
        for reception in (self._reception, *self._waiting):
            if reception is not None:
                self._release(reception)
        self._reception = None
        self._waiting.clear()
        self._close_file()
        self.deadline = inf

    def data_received(self, data: bytes) -> None:
        """Pass received bytes to the parser."""
        if self._linger_until:
            self._discard(len(data))
            return
        if self._refused is not None:
            return
        if self._working is not None and not self._paused:
            # Do not read further requests while a request is being processed. Unread bytes remain in the kernel.
            self._paused = True
            self._transport.pause_reading()
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # The client asks for another protocol, which the server does not support. The request itself is complete
            # and still gets a response.
            self._refused = HTTPStatus.BAD_REQUEST
        except httptools.HttpParserCallbackError as error:
            self._refuse(_status_of(error.__context__))
        except httptools.HttpParserError:
            self._refuse(HTTPStatus.BAD_REQUEST)

    def eof_received(self) -> bool:
        """Respond to all complete requests, although the client will not send any more data."""
        if self._linger_until or self.is_idle:
            return False
        self._half_closed = True
        if self._working is None:
            self._refuse(HTTPStatus.BAD_REQUEST)
        return True

    def pause_writing(self) -> None:
        """Pause sending the file, because the client reads too slowly."""
        self._writable = False

    def resume_writing(self) -> None:
        """Resume sending the file."""
        self._writable = True
        if self._file is not None:
            self._send_file()

    def on_message_begin(self) -> None:
        """Start receiving a request."""
        self._reception = Reception(self._environ.copy())
        if self._working is None:
            self.deadline = self._process.loop.time() + HEAD_SECONDS

    def on_url(self, url: bytes) -> None:
        """Append a part of the request target to the current request."""
        if self._reception is not None:
            self._reception.add_target(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header to the current request."""
        if self._reception is not None:
            self._reception.add_header(name, value)

    def on_headers_complete(self) -> None:
        """Check the head of the request, and decide whether to accept the body."""
        reception = self._reception
        if reception is None:
            return
        parser = self._parser
        reception.end_of_head(parser.get_method(), parser.get_http_version())
        reception.keep_alive = parser.should_keep_alive()
        if not reception.length:
            return
        if reception.length > self._process.door.body_limit(reception.environ):
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        now = self._process.loop.time()
        self._body_until = now + BODY_SECONDS
        if self._working is None:
            self.deadline = now + BODY_SILENCE_SECONDS
            if reception.environ.get("HTTP_EXPECT", "").lower() == "100-continue":
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, chunk: bytes) -> None:
        """Append a part of the body to the current request."""
        reception = self._reception
        if reception is not None:
            if reception.length > SMALL_BODY:
                if not self._process.reserve(len(chunk)):
                    raise Refused(HTTPStatus.SERVICE_UNAVAILABLE)
                reception.reserved += len(chunk)
            reception.add_body(chunk)
            if self._working is None:
                self.deadline = min(self._process.loop.time() + BODY_SILENCE_SECONDS, self._body_until)

    def on_message_complete(self) -> None:
        """Add the complete request to the queue of this connection."""
        reception = self._reception
        if reception is not None:
            self._reception = None
            reception.end_of_body()
            self._waiting.append(reception)
            self._next()

    @property
    def is_idle(self) -> bool:
        """Return True if the connection is waiting for a new request."""
        return self._working is None and self._reception is None and not self._waiting and not self._unsent_bytes()

    @property
    def is_working(self) -> bool:
        """Return True if a thread is processing a request of this connection."""
        return self._working is not None

    def _next(self) -> None:
        """Start the next request, unless another request is in progress."""
        if self._working is not None or self._file is not None or self._linger_until:
            return
        if not self._waiting:
            if self._refused is not None:
                self._send_refusal(self._refused)
            elif self._half_closed:
                self._transport.close()
            return
        reception = self._waiting.popleft()
        process = self._process
        environ, keep_alive = reception.environ, reception.keep_alive and not self._half_closed and not process.closing
        if (quick := process.door.at_once(environ)) is not None:
            status, headers, body = quick
            self._release(reception)
            self._send(build_response(status, headers, body, environ, keep_alive=keep_alive))
        elif not process.threads.take(owner := process.door.owner(environ)):
            self._release(reception)
            self._send(
                build_error_response(process.door, HTTPStatus.SERVICE_UNAVAILABLE, environ, keep_alive=keep_alive)
            )
        else:
            self._working = reception
            self.deadline = inf
            process.threads.busy += 1
            process.threads.submit(Job(environ, self._answered_in_thread, owner=owner, keep_alive=keep_alive))

    def _answered_in_thread(self, response: Answer | None) -> None:
        self._process.loop.call_soon_threadsafe(self._answered, response)

    def _answered(self, response: Answer | None) -> None:
        self._process.threads.busy -= 1
        if self._working is not None:
            self._release(self._working)
            self._working = None
        if self._transport.is_closing():
            if response is not None and response.file is not None:
                response.file.close()
        elif response is None:
            self._transport.abort()
        else:
            self._send(response)

    def _send(self, response: Answer) -> None:
        self._keep_alive = response.keep_alive
        self._transport.write(response.data)
        if response.file is not None:
            self._file = response.file
            self._send_file()
        else:
            self._sent()

    def _send_file(self) -> None:
        """Write file contents until the client reads too slowly or the file ends."""
        assert self._file is not None
        self.deadline = self._process.loop.time() + SEND_SILENCE_SECONDS
        while self._writable:
            chunk = self._file.read(_PIECE)
            if not chunk:
                self._close_file()
                self._sent()
                return
            self._transport.write(chunk)

    def _sent(self) -> None:
        """Continue with the next request after the whole response has been passed to the transport."""
        if not self._keep_alive or (self._half_closed and not self._waiting):
            self._finish()
            return
        if self._paused:
            self._paused = False
            self._transport.resume_reading()
        now = self._process.loop.time()
        self.deadline = now + (HEAD_SECONDS if self._reception is not None else self._process.idle_seconds)
        self._next()

    def _finish(self) -> None:
        """Close the connection after the last response has been sent."""
        if self._paused or self._refused is not None or self._reception is not None:
            self._linger()
        else:
            self.deadline = self._process.loop.time() + SEND_SILENCE_SECONDS
            self._transport.close()

    def _refuse(self, status: HTTPStatus) -> None:
        """Stop reading requests, and send an error response after the response in progress."""
        if self._reception is not None:
            self._release(self._reception)
        self._refused = status
        self._next()

    def _send_refusal(self, status: HTTPStatus) -> None:
        environ = self._reception.environ if self._reception is not None else {}
        self._reception = None
        self._transport.write(build_error_response(self._process.door, status, environ, keep_alive=False).data)
        self._linger()

    def _linger(self) -> None:
        """Close the sending direction, and discard received bytes for a limited time."""
        now = self._process.loop.time()
        self._linger_until = now + LINGER_SECONDS
        self.deadline = now + LINGER_SILENCE_SECONDS
        if self._paused:
            self._paused = False
            self._transport.resume_reading()
        if self._half_closed:
            self._transport.close()
        else:
            self._transport.write_eof()

    def _discard(self, size: int) -> None:
        self._linger_bytes += size
        if self._linger_bytes > LINGER_BYTES:
            self._transport.abort()
        else:
            self.deadline = min(self._process.loop.time() + LINGER_SILENCE_SECONDS, self._linger_until)

    def expire(self) -> None:
        """End the current wait after the deadline has passed."""
        unsent = self._unsent_bytes()
        if unsent and unsent != self._unsent:
            # Extend the deadline, because the client is still reading, although slowly.
            self._unsent = unsent
            self.deadline = self._process.loop.time() + SEND_SILENCE_SECONDS
        elif unsent or self._linger_until:
            self._transport.abort()
        elif self._reception is not None:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)
        else:
            self._transport.close()

    def hurry(self, seconds: float) -> None:
        """Shorten the deadline of an idle connection, because the process is stopping."""
        if self.is_idle:
            self.deadline = min(self.deadline, self._process.loop.time() + seconds)

    def abort(self) -> None:
        """Close the connection immediately."""
        self._transport.abort()

    def _unsent_bytes(self) -> int:
        return self._transport.get_write_buffer_size()

    def _release(self, reception: Reception) -> None:
        self._process.give_back(reception.reserved)
        reception.reserved = 0
        reception.close()

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _status_of(error: BaseException | None) -> HTTPStatus:
    """Return the response status for an error that occurred while a request was received."""
    return error.status if isinstance(error, Refused) else HTTPStatus.SERVICE_UNAVAILABLE
