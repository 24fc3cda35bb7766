"""The asyncio HTTP client for webhooks: many concurrent small requests over keep-alive connections.

The client first checks the text of the URL, then the IP addresses of the host, and connects only to checked addresses.
The client does not follow redirects, decompress responses, or use cookies, proxies or stored credentials.
"""

import asyncio
import socket
import ssl
import time
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from typing import Self

from django.db import connection

from apps.core.http.errors import (
    ADDRESS_NOT_ALLOWED,
    CONNECTION_FAILED,
    HOST_NOT_FOUND,
    INVALID_CERTIFICATE,
    NO_ADDRESS,
    NO_SECURE_CONNECTION,
    URL_NOT_ALLOWED,
    HttpRequestFailed,
    HttpRequestRefused,
    TimedOut,
    Unreachable,
)
from apps.core.http.http1_connection import MAX_BODY_BYTES, ConnectionClosed, Http1Connection, Progress, Reply
from apps.core.http.ssrf_guard import (
    Address,
    AddressRefused,
    Target,
    UrlRefused,
    check_addresses,
    check_url,
    resolve_host,
)

__all__ = ["MAX_BODY_BYTES", "AsyncClient", "ConnectionClosed", "Progress", "Reply", "TLSFailed"]

CONNECT_SECONDS = 1.0
TOTAL_SECONDS = 5.0
# How long the results of URL checks and name lookups are cached.
CHECK_TTL_SECONDS = 10.0
MAX_CACHED_CHECKS = 10_000
MAX_CONCURRENT_LOOKUPS = 16
_SWEEP_SECONDS = 5.0

Origin = tuple[str, str, int]


class TLSFailed(Unreachable):
    """Raised when TLS fails, e.g. because the certificate is invalid or there is no common TLS version."""

    code = "tls"


@dataclass(slots=True)
class _Route:
    """A checked URL. Routes with the same origin share connections. The check expires at the monotonic ``until``."""

    target: Target
    origin: Origin
    head: str
    until: float


class AsyncClient:
    """An HTTP client for one event loop. The context manager closes all connections on exit."""

    def __init__(self, *, connections: int = 200, seconds_kept: float = 30.0) -> None:
        """Create a client in a running event loop, with a maximum number of idle connections."""
        self._connections, self._seconds_kept = connections, seconds_kept
        self._routes: dict[str, _Route] = {}
        self._looked_up: dict[tuple[str, int], tuple[float, list[Address]]] = {}
        self._idle: dict[Origin, list[Http1Connection]] = {}
        # All idle connections, the least recently used connection first.
        self._idle_order: OrderedDict[Http1Connection, Origin] = OrderedDict()
        self._tls = ssl.create_default_context()
        self._tls.minimum_version = ssl.TLSVersion.TLSv1_2
        self._threads = ThreadPoolExecutor(MAX_CONCURRENT_LOOKUPS, "outgoing")
        self._loop = asyncio.get_running_loop()
        self._sweep = self._loop.call_later(_SWEEP_SECONDS, self._close_idle)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._sweep.cancel()
        for wire in [*self._idle_order]:
            wire.close()
        self._idle_order.clear()
        self._idle.clear()
        self._threads.shutdown(wait=False, cancel_futures=True)
        # Wait until the transports are closed, which happens in the next iteration of the event loop.
        await asyncio.sleep(0)

    async def post(self, url: str, *, body: bytes, headers: Mapping[str, str], progress: Progress) -> Reply:
        """Send a request once. Return the beginning of any response, or raise ``HttpRequestFailed``."""
        try:
            route = self._routes.get(url)
            if route is None or route.until <= progress.started_at:
                route = await self._resolve_route(url)
            return await self._send(route, _build_request(route, headers, body), progress)
        except HttpRequestFailed:
            raise
        except Exception as error:
            if (reason := _convert_error(error)) is None:
                raise
            raise reason from error
        finally:
            progress.ended = progress.now()

    async def _send(self, route: _Route, request: bytes, progress: Progress) -> Reply:
        """Send the request on an idle connection, or on a new connection if all idle connections were closed."""
        ends_at = time.monotonic() + TOTAL_SECONDS
        while (wire := self._take_idle(route.origin)) is not None:
            try:
                return await self._send_on(wire, route, request, progress, ends_at)
            except ConnectionClosed:
                if wire.has_received:
                    raise
        progress.connected = progress.peer = None
        async with asyncio.timeout(max(0.0, ends_at - time.monotonic())):
            wire = await self._connect(route.target, progress)
        return await self._send_on(wire, route, request, progress, ends_at)

    async def _send_on(
        self, wire: Http1Connection, route: _Route, request: bytes, progress: Progress, ends_at: float
    ) -> Reply:
        reply = await wire.send_request(request, progress, ends_at)
        if wire.is_open:
            self._keep_idle(wire, route.origin)
        else:
            wire.close()
        return reply

    def _take_idle(self, origin: Origin) -> Http1Connection | None:
        """Return the most recently used idle connection, or None."""
        wires = self._idle.get(origin)
        while wires:
            wire = wires.pop()
            del self._idle_order[wire]
            if wire.is_open:
                return wire
        return None

    def _keep_idle(self, wire: Http1Connection, origin: Origin) -> None:
        wire.idle_since = time.monotonic()
        self._idle.setdefault(origin, []).append(wire)
        self._idle_order[wire] = origin
        if len(self._idle_order) > self._connections:
            self._drop(next(iter(self._idle_order)))

    def _drop(self, wire: Http1Connection) -> None:
        origin = self._idle_order.pop(wire)
        self._idle[origin].remove(wire)
        if not self._idle[origin]:
            del self._idle[origin]
        wire.close()

    def _close_idle(self) -> None:
        """Close connections that have been idle for too long."""
        idle_limit = time.monotonic() - self._seconds_kept
        for wire in [*self._idle_order]:
            if wire.idle_since < idle_limit or not wire.is_open:
                self._drop(wire)
        self._sweep = self._loop.call_later(_SWEEP_SECONDS, self._close_idle)

    async def _connect(self, target: Target, progress: Progress) -> Http1Connection:
        """Connect to the first address of the target that accepts a connection."""
        failure: OSError | None = None
        for address in await self._addresses(target):
            progress.peer = str(address.sockaddr[0])
            try:
                return await self._connect_to(address, target)
            except ssl.SSLError:
                raise
            except OSError as error:
                failure = error
        raise failure or OSError(NO_ADDRESS)

    async def _connect_to(self, address: Address, target: Target) -> Http1Connection:
        raw_socket = socket.socket(address.family, socket.SOCK_STREAM)
        try:
            raw_socket.setblocking(False)
            raw_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._loop.sock_connect(raw_socket, address.sockaddr)
            uses_tls = target.scheme == "https"
            _, wire = await self._loop.create_connection(
                Http1Connection,
                sock=raw_socket,
                ssl=self._tls if uses_tls else None,
                server_hostname=target.host if uses_tls else None,
            )
        except BaseException:
            raw_socket.close()
            raise
        return wire

    async def _addresses(self, target: Target) -> list[Address]:
        if (literal := _get_literal_address(target)) is not None:
            check_addresses("", [str(literal.sockaddr[0])])
            return [literal]
        key, now = (target.host, target.port), time.monotonic()
        cached = self._looked_up.get(key)
        if cached is not None and cached[0] > now:
            return cached[1]
        look_up = partial(resolve_host, target.host, target.port, timeout=TOTAL_SECONDS)
        addresses = await self._loop.run_in_executor(self._threads, look_up)
        if len(self._looked_up) >= MAX_CACHED_CHECKS:
            self._looked_up.clear()
        self._looked_up[key] = (now + CHECK_TTL_SECONDS, addresses)
        return addresses

    async def _resolve_route(self, url: str) -> _Route:
        """Check a URL and return its route. The check runs in a thread, because it may query the database."""
        target = await self._loop.run_in_executor(self._threads, _check_url, url)
        if len(self._routes) >= MAX_CACHED_CHECKS:
            self._routes.clear()
        origin = (target.scheme, target.host, target.port)
        route = _Route(target, origin, _build_head(target), time.monotonic() + CHECK_TTL_SECONDS)
        self._routes[url] = route
        return route


def _check_url(url: str) -> Target:
    """Check a URL, and close the database connection that the check may have opened for this thread."""
    try:
        return check_url(url, schemes=("https",))
    finally:
        connection.close()


def _get_literal_address(target: Target) -> Address | None:
    """Return the IP address in the URL, or None if the URL contains a host name."""
    try:
        ip = ip_address(target.host)
    except ValueError:
        return None
    return Address(socket.AF_INET if ip.version == 4 else socket.AF_INET6, (str(ip), target.port))


def _build_head(target: Target) -> str:
    constant_headers = "User-Agent: Backoffice\r\nAccept: */*\r\nAccept-Encoding: identity"
    return f"POST {target.path} HTTP/1.1\r\nHost: {target.authority}\r\n{constant_headers}\r\n"


def _build_request(route: _Route, headers: Mapping[str, str], body: bytes) -> bytes:
    """Return the bytes of an HTTP request.

    Raises:
        ValueError: A header contains a line break.
    """
    header_lines = "\r\n".join([f"{name}: {value}" for name, value in headers.items()])
    if header_lines.count("\n") != len(headers) - 1 or header_lines.count("\r") != len(headers) - 1:
        raise ValueError("a header contains a line break")
    return f"{route.head}{header_lines}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


_ERROR_CLASSES: tuple[tuple[tuple[type[BaseException], ...], type[HttpRequestFailed], str], ...] = (
    ((AddressRefused,), HttpRequestRefused, ADDRESS_NOT_ALLOWED),
    ((UrlRefused,), HttpRequestRefused, URL_NOT_ALLOWED),
    ((ssl.SSLCertVerificationError,), TLSFailed, INVALID_CERTIFICATE),
    ((ssl.SSLError,), TLSFailed, NO_SECURE_CONNECTION),
    ((socket.gaierror,), Unreachable, HOST_NOT_FOUND),
    ((TimeoutError,), TimedOut, ""),
    ((OSError,), Unreachable, CONNECTION_FAILED),
)


def _convert_error(error: BaseException) -> HttpRequestFailed | None:
    """Return the ``HttpRequestFailed`` that matches a network error, or None for other errors."""
    for kinds, error_class, message in _ERROR_CLASSES:
        if isinstance(error, kinds):
            return error_class() if error_class is TimedOut else error_class(message)
    return None
