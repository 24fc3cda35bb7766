"""A connection of the asyncio client. It sends one request at a time and reads the beginning of the response.

llhttp (``httptools``) parses responses in strict mode. There are limits for each header, for all headers together, for
the stored part of the body and for the total time.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

import httptools

from apps.core.http.errors import (
    CONNECTION_RESET,
    INVALID_RESPONSE,
    BadResponse,
    HttpRequestFailed,
    TimedOut,
    Unreachable,
)

KIB = 1024
MAX_BODY_BYTES = 16 * KIB
HEADER_BYTES = 8 * KIB
HEAD_BYTES = 32 * KIB
MAX_HEADERS = 128


class ConnectionClosed(Unreachable):
    """Raised when the server closes the connection before the response is complete."""

    code = "reset"

    def __init__(self) -> None:
        super().__init__(CONNECTION_RESET)


@dataclass(slots=True)
class Progress:
    """The timing of a call, also after a failure: seconds since the start, or None if the call did not get so far."""

    started_at: float
    connected: float | None = None
    answered: float | None = None
    ended: float | None = None
    peer: str | None = None

    def now(self) -> float:
        return time.monotonic() - self.started_at


class Headers(Mapping[str, str]):
    """Response headers in their original order, with case-insensitive lookup.

    If a header occurs more than once, the lookup returns the first value.
    """

    __slots__ = ("pairs",)

    def __init__(self, sent: list[tuple[str, str]]) -> None:
        self.pairs = sent

    def __getitem__(self, name: str) -> str:
        lowered_name = name.lower()
        for header_name, value in self.pairs:
            if header_name.lower() == lowered_name:
                return value
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict(self.pairs))

    def __len__(self) -> int:
        return len(dict(self.pairs))


@dataclass(frozen=True, slots=True)
class Reply:
    """A response with any status. ``body`` is the beginning of the response body."""

    status: int
    headers: Headers
    body: bytes


class Http1Connection(asyncio.Protocol):
    """A connection that can be reused as long as ``is_open`` is True. ``idle_since`` is a monotonic time."""

    __slots__ = (
        "_body",
        "_has_end",
        "_head_left",
        "_headers",
        "_headers_left",
        "_is_head_done",
        "_parser",
        "_progress",
        "_response",
        "_status",
        "_transport",
        "has_received",
        "idle_since",
        "is_open",
        "peer",
    )

    def __init__(self) -> None:
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        self._response: asyncio.Future[Reply] | None = None
        self._transport: asyncio.Transport | None = None
        self.is_open, self.has_received, self.idle_since = False, False, 0.0
        self.peer: str | None = None
        self._begin_message()

    async def send_request(self, request: bytes, progress: Progress, ends_at: float) -> Reply:
        """Send a request and wait until the monotonic time ``ends_at``. Any failure closes the connection."""
        loop = asyncio.get_running_loop()
        self._response, self._progress, self.has_received = loop.create_future(), progress, False
        progress.connected, progress.peer = progress.now(), self.peer
        if self._transport is None or not self.is_open:
            raise ConnectionClosed
        self._begin_message()
        late = loop.call_later(max(0.0, ends_at - time.monotonic()), self._fail, TimedOut())
        self._transport.write(request)
        try:
            return await self._response
        except BaseException:
            self.close()
            raise
        finally:
            late.cancel()
            self._response = None

    def close(self) -> None:
        """Close the connection without waiting for unsent data."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self.peer, self.is_open = str(peer[0]) if peer else None, True

    def data_received(self, data: bytes) -> None:
        """Feed received bytes to the parser. Bytes that arrive between requests close the connection."""
        if self._parser is None or self._response is None or self._response.done():
            self.close()
            return
        self.has_received = True
        if not self._is_head_done:
            self._head_left -= len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            # If extra bytes follow a complete response, ``_fail`` only marks the connection as closed.
            self._fail(BadResponse(INVALID_RESPONSE))
        else:
            if self._head_left < 0 and not self._is_head_done:
                self._fail(BadResponse(INVALID_RESPONSE))

    def connection_lost(self, exc: Exception | None) -> None:
        """Handle a closed connection, which may be the normal end of a response."""
        self.is_open, self._parser = False, None
        if not self._is_head_done:
            self._fail(ConnectionClosed())
        elif self._has_end:
            self._fail(ConnectionClosed() if exc is not None else BadResponse(INVALID_RESPONSE))
        else:
            self._complete()

    def _begin_message(self) -> None:
        self._headers: list[tuple[bytes, bytes]] = []
        self._body = b""
        self._is_head_done, self._has_end = False, False
        self._head_left = self._headers_left = HEAD_BYTES

    def on_message_begin(self) -> None:
        """Close the connection if the server sends a response although no request is pending."""
        if self._response is None or self._response.done():
            self.is_open = False

    def on_header(self, name: bytes, value: bytes) -> None:
        size = len(name) + len(value)
        self._headers_left -= size
        if size > HEADER_BYTES or self._headers_left < 0 or len(self._headers) >= MAX_HEADERS:
            raise BadResponse(INVALID_RESPONSE)
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Read the status. Ignore the headers of interim responses."""
        if self._parser is None or (status := self._parser.get_status_code()) < 200:
            return
        self._status, self._is_head_done = status, True
        self._has_end = any(name.lower() in {b"content-length", b"transfer-encoding"} for name, _ in self._headers)
        if self._progress.answered is None:
            self._progress.answered = self._progress.now()

    def on_body(self, body: bytes) -> None:
        """Store a part of the body. At the limit, complete the response and close the connection."""
        if self._response is None or self._response.done():
            return
        self._body += body[: MAX_BODY_BYTES + 1 - len(self._body)]
        if len(self._body) > MAX_BODY_BYTES:
            self._complete()
            self.close()

    def on_message_complete(self) -> None:
        """Complete the response, unless the message is an interim response."""
        if not self._is_head_done:
            self._begin_message()
            return
        self.is_open = self.is_open and self._parser is not None and self._parser.should_keep_alive()
        self._complete()

    def _complete(self) -> None:
        if self._response is None or self._response.done():
            return
        headers = [(_text(name), _text(value)) for name, value in self._headers]
        self._response.set_result(Reply(self._status, Headers(headers), self._body[:MAX_BODY_BYTES]))

    def _fail(self, reason: HttpRequestFailed) -> None:
        if self._response is not None and not self._response.done():
            self._response.set_exception(reason)
        self.is_open = False


def _text(value: bytes) -> str:
    return value.decode(errors="surrogateescape")
