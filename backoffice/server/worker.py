"""gunicorn's ASGI worker, with limits for clients that send or read nothing.

gunicorn closes idle connections after their first request, but has no time limit for the first request or for clients
that do not read. The classes extend private parts of gunicorn, which ``tests/server/test_connections.py`` checks.
"""

import asyncio
import contextlib
import socket
from http import HTTPStatus

from gunicorn.asgi.parser import CallbackRequest
from gunicorn.asgi.protocol import ASGIProtocol
from gunicorn.workers import gasgi

from backoffice.server.adapter import Adapter

# These times are in seconds. The first request of a connection must begin within HEAD_SECONDS, and the head of each
# request must be complete within HEAD_SECONDS.
HEAD_SECONDS = 10.0
SEND_SILENCE_SECONDS = 30.0
HEAD_BYTES = 64 * 1024
# A request begins with the letters of its method, or with empty lines. Clients of TLS, for example, begin with other
# bytes, and perhaps never send a line.
FIRST_BYTES = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ\r\n")
# The adapter waits while more unsent bytes than these are buffered. Most responses are shorter.
WRITE_BUFFER_BYTES = 256 * 1024
# After the stop signal, idle connections stay open for this time, because a request may already be under way.
STOP_IDLE_SECONDS = 0.5
# A process that is still starting holds the listener, too, and must end before this process closes it.
STOP_LISTENING_SECONDS = 0.3
STOP_ACCEPT_SECONDS = 0.5


class Connection(ASGIProtocol):
    """An HTTP connection."""

    app: Adapter
    worker: "Worker"
    transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection, and close the oldest idle connection if there are too many."""
        super().connection_made(transport)
        self.transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)
        # The received bytes of the current head, and the time at which the head began.
        self._head_bytes, self._head_since = 0, self.worker.loop.time()
        # The number of bytes that the client has not read, and the time since which this number has not changed.
        self._unread, self._unread_since = 0, 0.0
        self._is_half_closed = False
        self.worker.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.worker.connections.pop(self, None)

    def _feed_callback_parser(self, data: bytes) -> bool:
        """Reject a head that is too large. gunicorn limits only the size and number of lines.

        gunicorn calls this method with received bytes, and again with the rest after a response. Such a rest may be the
        start of the next head.
        """
        if self._current_request is None:
            if data and not self._head_bytes and data[0] not in FIRST_BYTES:
                self._reject(HTTPStatus.BAD_REQUEST)
                return False
            if not self._head_bytes:
                self._head_since = self.worker.loop.time()
            self._head_bytes += len(data)
        try:
            parsed: bool = super()._feed_callback_parser(data)
        except ValueError:
            # Content-Length has more digits than Python converts.
            self._reject(HTTPStatus.BAD_REQUEST)
            return False
        if self._current_request is not None:
            self._head_bytes = 0
        elif self._head_bytes > HEAD_BYTES:
            self._reject(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            return False
        return parsed

    def _reject(self, status: HTTPStatus) -> None:
        if not self._closed:
            self._send_error_response(status, status.phrase)
            self.close()

    def _is_websocket_upgrade(self, request: object) -> bool:
        """Ignore offers of WebSockets, as of all other protocols."""
        return False

    def _will_close(self, request: CallbackRequest, response_requires_close: object) -> bool:
        """Return True if the response announces the end of the connection.

        After the stop signal, all responses do. In HTTP/1.0, which knows no open connections, all responses do, too.
        """
        is_old = request.version < (1, 1)
        return self.worker.is_stopping or is_old or bool(super()._will_close(request, response_requires_close))

    def _send_response_start(
        self, status: int, headers: list[tuple[bytes, bytes]], request: CallbackRequest, close: bool = False
    ) -> None:
        """Send the head of a response, and close the connection afterwards if the application has announced that."""
        if (b"Connection", b"close") in headers:
            self._keepalive = 0
        super()._send_response_start(status, headers, request, close)

    def eof_received(self) -> bool:
        """Respond to the current request, although the client will not send any more data."""
        if self._current_request is None:
            return False
        self._is_half_closed = True
        self._current_request.must_close = True
        if not self._body_receiver._complete:
            self._body_receiver.signal_disconnect()
        return True

    def _arm_keepalive_timer(self) -> None:
        """Wait for the next request, unless the client has closed its side during the response."""
        if self._is_half_closed:
            self.close()
        else:
            super()._arm_keepalive_timer()

    def _send_error_response(self, status: int, message: str, extra_headers: object = ()) -> None:
        """Send an error for a request that gunicorn cannot parse, in the format of the application."""
        response = self.app.refuse(HTTPStatus(status))
        head = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode()]
        head += [name + b": " + value for name, value in response.headers]
        self._safe_write(b"\r\n".join([*head, b"Connection: close", b"", response.body]))

    @property
    def has_request(self) -> bool:
        """Return True from the end of a request's head to the end of the response."""
        return not self._awaiting_request

    @property
    def is_idle(self) -> bool:
        """Return True if the client has not begun another request."""
        return self._awaiting_request and not self._head_bytes

    def close_if_silent(self, now: float) -> None:
        """Close the connection if the client has been silent for too long."""
        unread = self.transport.get_write_buffer_size()
        if unread != self._unread:
            self._unread, self._unread_since = unread, now
        elif unread and now - self._unread_since > SEND_SILENCE_SECONDS:
            self.transport.abort()
        if not self.has_request and now - self._head_since > HEAD_SECONDS:
            if self._head_bytes:
                self._reject(HTTPStatus.REQUEST_TIMEOUT)
            elif self.req_count == 1:
                self.close()

    def close(self) -> None:
        """Close an idle connection."""
        self._keepalive_timeout()


# gunicorn has no setting for the class of connections.
gasgi.ASGIProtocol = Connection


class Worker(gasgi.ASGIWorker):
    """A web process."""

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)
        self.connections: dict[Connection, None] = {}
        self.is_stopping = False
        self._serving: asyncio.Task[None] | None = None

    async def _serve(self) -> None:
        self._serving = asyncio.current_task()
        await super()._serve()

    def handle_exit_signal(self) -> None:
        """Begin to stop. ``alive`` stays True until the connections have ended.

        Otherwise, gunicorn would close a connection without warning if the signal arrives during a response, and lose
        the client's next request.
        """
        if self._serving is None or len(self.servers) < len(self.sockets):
            super().handle_exit_signal()
        elif not self.is_stopping:
            self.is_stopping = True
            # gunicorn's main loop treats this as the signal to stop.
            self._serving.cancel()

    def add(self, connection: Connection) -> None:
        """Register a connection. If there are too many, close the oldest connection without a request."""
        if len(self.connections) >= self.worker_connections:
            oldest = next((other for other in self.connections if not other.has_request), connection)
            oldest.transport.abort()
        self.connections[connection] = None

    def notify(self) -> None:
        """Send the heartbeat to the master process, and close the connections of silent clients."""
        super().notify()
        now = self.loop.time()
        for connection in list(self.connections):
            connection.close_if_silent(now)

    async def _shutdown(self) -> None:
        self.is_stopping = True
        closing = self.loop.create_task(self._close_idle_connections())
        await asyncio.sleep(STOP_LISTENING_SECONDS)
        for server, listener in zip(self.servers, self.sockets, strict=False):
            waiting = self._accept_all(listener.sock)
            # Close the listener at once, because the kernel would reset connections that arrive in between.
            server.close()
            for accepted in waiting:
                await self.loop.connect_accepted_socket(lambda: Connection(self), accepted)
        # asyncio registers connections that it has accepted within the next rounds of the event loop.
        for _ in range(10):
            await asyncio.sleep(0)
        await super()._shutdown()
        closing.cancel()

    def _accept_all(self, listener: socket.socket) -> list[socket.socket]:
        """Accept all waiting connections, because the kernel would reset them when the last process stops."""
        waiting: list[socket.socket] = []
        until = self.loop.time() + STOP_ACCEPT_SECONDS
        with contextlib.suppress(BlockingIOError):
            while self.loop.time() < until:
                waiting.append(listener.accept()[0])
        return waiting

    async def _close_idle_connections(self) -> None:
        await asyncio.sleep(STOP_IDLE_SECONDS)
        while True:
            for connection in [connection for connection in self.connections if connection.is_idle]:
                connection.close()
            self.notify()
            await asyncio.sleep(0.1)
