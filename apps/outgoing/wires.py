"""One connection of the event loop's client: a request at a time, and its answer as far as anybody wants it.

Parsing is llhttp's (``httptools``), in its strict manner. Everything that a receiver may send has an end: a header, all
headers, the part of the body that is kept, and the time for the whole.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

import httptools
from django.utils.translation import gettext_noop

from apps.outgoing.errors import BadAnswer, FetchFailed, TimedOut, Unreachable

KIB = 1024
KEPT_BYTES = 16 * KIB
HEADER_BYTES = 8 * KIB
HEAD_BYTES = 32 * KIB
MAX_HEADERS = 128
BROKEN = gettext_noop("broken answer")
INTERIM_UNTIL = 200


class Reset(Unreachable):
    """The other side hung up before it had answered."""

    code = "reset"

    def __init__(self) -> None:
        super().__init__(gettext_noop("connection reset"))


@dataclass(slots=True)
class Progress:
    """What is known of a call while it runs, and after it failed. Times are seconds since its beginning.

    Attributes:
        connected: When it had a connection; None where it got none.
        answered: When the answer's headers had come.
        ended: When it was over.
        peer: The address that it went to.
    """

    began: float
    connected: float | None = None
    answered: float | None = None
    ended: float | None = None
    peer: str | None = None

    def now(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.began


class Headers(Mapping[str, str]):
    """The headers of an answer: found in whatever case, listed as they were sent; of equal names the first counts."""

    __slots__ = ("sent",)

    def __init__(self, sent: list[tuple[str, str]]) -> None:
        """Of pairs of name and value."""
        self.sent = sent

    def __getitem__(self, name: str) -> str:
        wanted = name.lower()
        for each, value in self.sent:
            if each.lower() == wanted:
                return value
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict(self.sent))

    def __len__(self) -> int:
        return len(dict(self.sent))


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a call, whatever its status; ``body`` is the beginning of what was sent."""

    status: int
    headers: Headers
    body: bytes


class Wire(asyncio.Protocol):
    """A connection. It can be asked again while it ``is_open``.

    Attributes:
        idle_since: When the last answer was complete, in seconds of the monotonic clock.
        was_heard: Whether anything of the present answer has come.
    """

    __slots__ = (
        "_answer",
        "_body",
        "_has_end",
        "_head_left",
        "_headers",
        "_headers_left",
        "_is_head_done",
        "_parser",
        "_progress",
        "_status",
        "_transport",
        "idle_since",
        "is_open",
        "peer",
        "was_heard",
    )

    def __init__(self) -> None:
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        self._answer: asyncio.Future[Reply] | None = None
        self._transport: asyncio.Transport | None = None
        self.is_open, self.was_heard, self.idle_since = False, False, 0.0
        self.peer: str | None = None
        self._begin_message()

    async def ask(self, request: bytes, progress: Progress, ends_at: float) -> Reply:
        """Send a request, and wait for the answer until a moment of the monotonic clock.

        Raises:
            FetchFailed: None came that could be used; the connection is closed then.
        """
        loop = asyncio.get_running_loop()
        self._answer, self._progress, self.was_heard = loop.create_future(), progress, False
        progress.connected, progress.peer = progress.now(), self.peer
        if self._transport is None or not self.is_open:
            raise Reset
        self._begin_message()
        late = loop.call_later(max(0.0, ends_at - time.monotonic()), self._fail, TimedOut())
        self._transport.write(request)
        try:
            return await self._answer
        except BaseException:
            self.close()
            raise
        finally:
            late.cancel()
            self._answer = None

    def close(self) -> None:
        """Hang up, without a wait for what was not sent yet."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    # --- the transport's side ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands."""
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self.peer, self.is_open = str(peer[0]) if peer else None, True

    def data_received(self, data: bytes) -> None:
        """Bytes came; between two requests there should be none."""
        if self._parser is None or self._answer is None or self._answer.done():
            self.close()
            return
        self.was_heard = True
        if not self._is_head_done:
            self._head_left -= len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            # What follows a complete answer does not spoil it.
            self._fail(BadAnswer(BROKEN))
        else:
            if self._head_left < 0 and not self._is_head_done:
                self._fail(BadAnswer(BROKEN))

    def connection_lost(self, exc: Exception | None) -> None:
        """The other side hung up, which may be how it ends an answer."""
        self.is_open, self._parser = False, None
        if not self._is_head_done:
            self._fail(Reset())
        elif self._has_end:
            self._fail(Reset() if exc is not None else BadAnswer(BROKEN))
        else:
            self._complete()

    # --- the parser's side ---

    def _begin_message(self) -> None:
        self._headers: list[tuple[bytes, bytes]] = []
        self._body = b""
        self._is_head_done, self._has_end = False, False
        self._head_left = self._headers_left = HEAD_BYTES

    def on_message_begin(self) -> None:
        """An answer begins; one that follows upon another was not asked for."""
        if self._answer is None or self._answer.done():
            self.is_open = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header came whole."""
        size = len(name) + len(value)
        self._headers_left -= size
        if size > HEADER_BYTES or self._headers_left < 0 or len(self._headers) >= MAX_HEADERS:
            raise BadAnswer(BROKEN)
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """All headers came; those of an interim answer are nothing to us."""
        if self._parser is None or (status := self._parser.get_status_code()) < INTERIM_UNTIL:
            return
        self._status, self._is_head_done = status, True
        self._has_end = any(name.lower() in {b"content-length", b"transfer-encoding"} for name, _ in self._headers)
        if self._progress.answered is None:
            self._progress.answered = self._progress.now()

    def on_body(self, body: bytes) -> None:
        """A part of the body came; with enough of it the answer is as complete as it will be."""
        if self._answer is None or self._answer.done():
            return
        self._body += body[: KEPT_BYTES + 1 - len(self._body)]
        if len(self._body) > KEPT_BYTES:
            self._complete()
            self.close()

    def on_message_complete(self) -> None:
        """The answer is complete, or an interim one is."""
        if not self._is_head_done:
            self._begin_message()
            return
        self.is_open = self.is_open and self._parser is not None and self._parser.should_keep_alive()
        self._complete()

    # --- the end of an answer ---

    def _complete(self) -> None:
        if self._answer is None or self._answer.done():
            return
        headers = [(_text(name), _text(value)) for name, value in self._headers]
        self._answer.set_result(Reply(self._status, Headers(headers), self._body[:KEPT_BYTES]))

    def _fail(self, reason: FetchFailed) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(reason)
        self.is_open = False


def _text(value: bytes) -> str:
    return value.decode(errors="surrogateescape")
