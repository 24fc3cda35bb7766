"""The asyncio HTTP client for webhooks: many concurrent small requests over keep-alive connections (aiohttp).

The client first checks the text of the URL, then the IP addresses of the host, and connects only to checked addresses.
The client does not follow redirects, decompress responses, or use cookies, proxies or stored credentials.
"""

import asyncio
import socket
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from typing import Any, Self
from weakref import WeakSet

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from django.db import connection
from yarl import URL

from apps.core.http.errors import (
    ADDRESS_NOT_ALLOWED,
    CONNECTION_FAILED,
    CONNECTION_RESET,
    HOST_NOT_FOUND,
    INVALID_CERTIFICATE,
    INVALID_RESPONSE,
    NO_SECURE_CONNECTION,
    URL_NOT_ALLOWED,
    BadResponse,
    HttpRequestFailed,
    HttpRequestRefused,
    TimedOut,
    Unreachable,
)
from apps.core.http.guarded_connections import create_tls_context
from apps.core.http.ssrf_guard import AddressRefused, Target, UrlRefused, check_addresses, check_url, resolve_host

# The limit for opening a connection, including the TLS handshake.
CONNECT_SECONDS = 2.0
TOTAL_SECONDS = 5.0
MAX_BODY_BYTES = 16 * 1024
HEADER_BYTES = 8 * 1024
MAX_HEADERS = 128
# How long the results of URL checks and name lookups are cached.
CHECK_TTL_SECONDS = 10
MAX_CACHED_CHECKS = 10_000
MAX_CONCURRENT_LOOKUPS = 16
_CONSTANT_HEADERS = {"User-Agent": "Backoffice", "Accept": "*/*", "Accept-Encoding": "identity"}


class TLSFailed(Unreachable):
    """Raised when TLS fails, e.g. because the certificate is invalid or there is no common TLS version."""

    code = "tls"


class ConnectionClosed(Unreachable):
    """Raised when the server closes the connection before the response is complete."""

    code = "reset"


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


@dataclass(frozen=True, slots=True)
class Reply:
    """A response with any status. ``headers`` is case-insensitive. ``body`` is the beginning of the response body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(slots=True)
class _Route:
    """A checked URL. The check expires at the monotonic time ``until``."""

    target: Target
    url: URL
    until: float


@dataclass(slots=True)
class _Call:
    """The call of the current task. The connector records the connection that it uses."""

    target: Target
    progress: Progress
    is_reused: bool = False


_current_call: ContextVar[_Call] = ContextVar("outgoing call")


class AsyncClient:
    """An HTTP client for one event loop. The context manager closes all connections on exit."""

    def __init__(self, *, connections: int = 200) -> None:
        """Create a client in a running event loop, with a maximum number of idle connections."""
        self._threads = ThreadPoolExecutor(MAX_CONCURRENT_LOOKUPS, "outgoing")
        self._connector = _GuardedConnector(self._threads)
        self._session = aiohttp.ClientSession(
            connector=self._connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            headers=_CONSTANT_HEADERS,
            auto_decompress=False,
            max_line_size=HEADER_BYTES,
            max_field_size=HEADER_BYTES,
            max_headers=MAX_HEADERS,
        )
        self._max_sockets = 2 * connections
        self._routes: dict[str, _Route] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self._session.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def post(self, url: str, *, body: bytes, headers: Mapping[str, str], progress: Progress) -> Reply:
        """Send a request once. Return the beginning of any response, or raise ``HttpRequestFailed``."""
        try:
            async with asyncio.timeout(TOTAL_SECONDS):
                route = self._routes.get(url)
                if route is None or route.until <= progress.started_at:
                    route = await self._resolve_route(url)
                call = _Call(route.target, progress)
                _current_call.set(call)
                if len(self._connector.sockets) > self._max_sockets:
                    # Most connections are idle. Do not keep another one.
                    headers = {**headers, "Connection": "close"}
                while True:
                    try:
                        return await self._send(route.url, body, headers, progress)
                    except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
                        # The server may close an idle connection at any time, so try the next connection. A server that
                        # has already processed the request can recognize the second request by its ID.
                        if not call.is_reused or isinstance(error, aiohttp.ClientConnectorError):
                            raise
        except Exception as error:
            if (reason := _convert_error(error)) is None:
                raise
            raise reason from error
        finally:
            progress.ended = progress.now()

    async def _send(self, url: URL, body: bytes, headers: Mapping[str, str], progress: Progress) -> Reply:
        progress.answered = None
        async with self._session.post(url, data=body, headers=headers, allow_redirects=False) as response:
            progress.answered = progress.now()
            received = b""
            while len(received) <= MAX_BODY_BYTES and (part := await response.content.readany()):
                received += part
            if len(received) > MAX_BODY_BYTES:
                response.close()
            return Reply(response.status, response.headers, received[:MAX_BODY_BYTES])

    async def _resolve_route(self, url: str) -> _Route:
        """Check a URL and return its route. The check runs in a thread, because it may query the database."""
        target = await asyncio.get_running_loop().run_in_executor(self._threads, _check_url, url)
        if len(self._routes) >= MAX_CACHED_CHECKS:
            self._routes.clear()
        route = _Route(target, URL(target.url, encoded=True), time.monotonic() + CHECK_TTL_SECONDS)
        self._routes[url] = route
        return route


class _GuardedConnector(aiohttp.TCPConnector):
    """A connection pool that connects only to addresses that the SSRF guard allows."""

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        # The open sockets of busy and idle connections.
        self.sockets: WeakSet[socket.socket] = WeakSet()
        super().__init__(
            resolver=_GuardedResolver(threads),
            socket_factory=self._create_socket,
            ssl=create_tls_context(),
            ttl_dns_cache=CHECK_TTL_SECONDS,
            limit=0,
            keepalive_timeout=30,
        )

    async def connect(self, req: aiohttp.ClientRequest, *arguments: Any, **options: Any) -> Any:
        """Return an idle or new connection, and record it in the current call."""
        call = _current_call.get()
        call.is_reused = True
        wire = await super().connect(req, *arguments, **options)
        peer = wire.transport.get_extra_info("peername") if wire.transport else None
        call.progress.connected, call.progress.peer = call.progress.now(), str(peer[0]) if peer else None
        return wire

    def _create_socket(self, address: tuple[Any, ...]) -> socket.socket:
        """Create the socket for an address of the current call, after a last check of exactly this address."""
        call = _current_call.get()
        call.is_reused = False
        family, kind, protocol, _, sockaddr = address
        call.progress.connected, call.progress.peer = None, str(sockaddr[0])
        check_addresses("" if _is_address(call.target.host) else call.target.host, [sockaddr[0]])
        new_socket = socket.socket(family, kind, protocol)
        self.sockets.add(new_socket)
        return new_socket


class _GuardedResolver(AbstractResolver):
    """Resolves host names in threads. If any address of a host is forbidden, the host is refused."""

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        self._threads = threads

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        look_up = partial(resolve_host, host, port, timeout=TOTAL_SECONDS)
        return [
            ResolveResult(
                hostname=host,
                host=str(address.sockaddr[0]),
                port=port,
                family=address.family,
                proto=0,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for address in await asyncio.get_running_loop().run_in_executor(self._threads, look_up)
        ]

    async def close(self) -> None:
        """Do nothing, because the client shuts the threads down."""


def _check_url(url: str) -> Target:
    """Check a URL, and close the database connection that the check may have opened for this thread."""
    try:
        return check_url(url, schemes=("https",))
    finally:
        connection.close()


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


_ERROR_CLASSES: tuple[tuple[type[BaseException], type[HttpRequestFailed], str], ...] = (
    (AddressRefused, HttpRequestRefused, ADDRESS_NOT_ALLOWED),
    (UrlRefused, HttpRequestRefused, URL_NOT_ALLOWED),
    (TimeoutError, TimedOut, ""),
    (aiohttp.ClientConnectorCertificateError, TLSFailed, INVALID_CERTIFICATE),
    (aiohttp.ClientSSLError, TLSFailed, NO_SECURE_CONNECTION),
    (aiohttp.ClientConnectorDNSError, Unreachable, HOST_NOT_FOUND),
    (aiohttp.ClientConnectorError, Unreachable, CONNECTION_FAILED),
    (aiohttp.ServerDisconnectedError, ConnectionClosed, CONNECTION_RESET),
    (aiohttp.ClientOSError, ConnectionClosed, CONNECTION_RESET),
    (aiohttp.ClientError, BadResponse, INVALID_RESPONSE),
)


def _convert_error(error: BaseException) -> HttpRequestFailed | None:
    """Return the ``HttpRequestFailed`` that matches a network error, or None for other errors."""
    for kind, error_class, message in _ERROR_CLASSES:
        if isinstance(error, kind):
            return error_class() if error_class is TimedOut else error_class(message)
    return None
