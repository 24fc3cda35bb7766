"""The client of an event loop: many small calls to other people's servers at once, over connections that stay open.

The same guard as everywhere: a URL is vetted by its text, a name when it is looked up, and a literal address when its
socket is made; what is connected to is what was vetted. It follows no redirects, takes no cookies, proxies and
credentials from anywhere, and unpacks nothing.
"""

import asyncio
import socket
import ssl
import time
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Self

from django.utils.translation import gettext_noop

from apps.outgoing.addresses import (
    DEFAULT_PORTS,
    Address,
    AddressRefused,
    Target,
    UrlRefused,
    resolve,
    vet_addresses,
    vet_url,
)
from apps.outgoing.errors import FetchFailed, FetchRefused, TimedOut, Unreachable
from apps.outgoing.wires import KEPT_BYTES, Progress, Reply, Reset, Wire

__all__ = ["KEPT_BYTES", "AsyncClient", "Progress", "Reply", "Reset", "TLSFailed"]

CONNECT_SECONDS = 1.0
TOTAL_SECONDS = 5.0
# A URL that was vetted, and a name that was looked up, need not be so again for as long.
VETTED_SECONDS = 10.0
MAX_VETTED = 10_000
LOOKUPS_AT_ONCE = 16
_SWEEP_SECONDS = 5.0

Place = tuple[str, str, int]


class TLSFailed(Unreachable):
    """No secure connection: the certificate does not hold, or the two have no version in common."""

    code = "tls"


@dataclass(slots=True)
class _Route:
    """A vetted URL.

    Attributes:
        place: Scheme, host and port: what connections are shared by.
        head: The request's first lines, which are always the same.
        until: When it is to be vetted again, in seconds of the monotonic clock.
    """

    target: Target
    place: Place
    head: str
    until: float


class AsyncClient:
    """Calls other people's servers from an event loop; a context manager that closes its connections."""

    def __init__(self, *, connections: int = 200, seconds_kept: float = 30.0) -> None:
        """Open it inside a running loop.

        Args:
            connections: How many idle ones are kept at most.
            seconds_kept: How long an idle one is kept.
        """
        self._connections, self._seconds_kept = connections, seconds_kept
        self._routes: dict[str, _Route] = {}
        self._looked_up: dict[tuple[str, int], tuple[float, list[Address]]] = {}
        self._idle: dict[Place, list[Wire]] = {}
        # All of the idle ones, the one that has been so for longest first.
        self._kept: OrderedDict[Wire, Place] = OrderedDict()
        self._tls = _tls_context()
        self._threads = ThreadPoolExecutor(LOOKUPS_AT_ONCE, "outgoing")
        self._loop = asyncio.get_running_loop()
        self._sweep = self._loop.call_later(_SWEEP_SECONDS, self._let_go)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._sweep.cancel()
        for wire in [*self._kept]:
            wire.close()
        self._kept.clear()
        self._idle.clear()
        self._threads.shutdown(wait=False, cancel_futures=True)
        # Transports say goodbye in a turn of their own.
        await asyncio.sleep(0)

    async def post(self, url: str, *, body: bytes, headers: Mapping[str, str], progress: Progress) -> Reply:
        """Send a body once and keep the beginning of the answer.

        Raises:
            FetchFailed: No answer came in time, or the guard refused; a bad status is an answer.
        """
        try:
            route = self._routes.get(url)
            if route is None or route.until <= progress.began:
                route = await self._vet(url)
            return await self._answered(route, _request(route, headers, body), progress)
        except FetchFailed:
            raise
        except Exception as error:
            if (reason := _reason(error)) is None:
                raise
            raise reason from error
        finally:
            progress.ended = progress.now()

    async def _answered(self, route: _Route, request: bytes, progress: Progress) -> Reply:
        """The answer; a kept connection that had been closed meanwhile is not the receiver's failure."""
        ends_at = time.monotonic() + TOTAL_SECONDS
        while (wire := self._take(route.place)) is not None:
            try:
                return await self._asked(wire, route, request, progress, ends_at)
            except Reset:
                if wire.was_heard:
                    raise
        progress.connected = progress.peer = None
        async with asyncio.timeout(max(0.0, ends_at - time.monotonic())):
            wire = await self._connected(route.target, progress)
        return await self._asked(wire, route, request, progress, ends_at)

    async def _asked(self, wire: Wire, route: _Route, request: bytes, progress: Progress, ends_at: float) -> Reply:
        reply = await wire.ask(request, progress, ends_at)
        if wire.is_open:
            self._keep(wire, route.place)
        else:
            wire.close()
        return reply

    # --- connections -------------------------------------------------------------------------------------------------

    def _take(self, place: Place) -> Wire | None:
        """A kept connection, the one that was used last."""
        wires = self._idle.get(place)
        while wires:
            wire = wires.pop()
            del self._kept[wire]
            if wire.is_open:
                return wire
        return None

    def _keep(self, wire: Wire, place: Place) -> None:
        wire.idle_since = time.monotonic()
        self._idle.setdefault(place, []).append(wire)
        self._kept[wire] = place
        if len(self._kept) > self._connections:
            self._drop(next(iter(self._kept)))

    def _drop(self, wire: Wire) -> None:
        place = self._kept.pop(wire)
        self._idle[place].remove(wire)
        if not self._idle[place]:
            del self._idle[place]
        wire.close()

    def _let_go(self) -> None:
        """Hang up where nothing was said for long."""
        old = time.monotonic() - self._seconds_kept
        for wire in [each for each in self._kept if each.idle_since < old or not each.is_open]:
            self._drop(wire)
        self._sweep = self._loop.call_later(_SWEEP_SECONDS, self._let_go)

    async def _connected(self, target: Target, progress: Progress) -> Wire:
        """A new connection, to the first of the target's addresses that takes it."""
        failure: OSError | None = None
        for address in await self._addresses(target):
            progress.peer = str(address.sockaddr[0])
            try:
                return await self._connected_to(address, target)
            except ssl.SSLError:
                raise
            except OSError as error:
                failure = error
        raise failure or OSError(gettext_noop("no address"))

    async def _connected_to(self, address: Address, target: Target) -> Wire:
        plain = socket.socket(address.family, socket.SOCK_STREAM)
        try:
            plain.setblocking(False)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._loop.sock_connect(plain, address.sockaddr)
            secure = target.scheme == "https"
            _, wire = await self._loop.create_connection(
                Wire, sock=plain, ssl=self._tls if secure else None, server_hostname=target.host if secure else None
            )
        except BaseException:
            plain.close()
            raise
        return wire

    async def _addresses(self, target: Target) -> list[Address]:
        """Where a target may be reached; a literal address is vetted here, a name's by the lookup.

        Raises:
            AddressRefused: The guard says no to one of them.
        """
        if (literal := _literal(target)) is not None:
            vet_addresses("", [str(literal.sockaddr[0])])
            return [literal]
        key, now = (target.host, target.port), time.monotonic()
        known = self._looked_up.get(key)
        if known is not None and known[0] > now:
            return known[1]
        found = await self._loop.run_in_executor(self._threads, _look_up, target.host, target.port)
        if len(self._looked_up) >= MAX_VETTED:
            self._looked_up.clear()
        self._looked_up[key] = (now + VETTED_SECONDS, found)
        return found

    async def _vet(self, url: str) -> _Route:
        """The URL in parts. Whether a host is a shop of ours may be looked up, which is done beside the loop."""
        target = await self._loop.run_in_executor(self._threads, _vetted, url)
        if len(self._routes) >= MAX_VETTED:
            self._routes.clear()
        place = (target.scheme, target.host, target.port)
        route = _Route(target, place, _head(target), time.monotonic() + VETTED_SECONDS)
        self._routes[url] = route
        return route


def _vetted(url: str) -> Target:
    return vet_url(url, schemes=("https",))


def _look_up(host: str, port: int) -> list[Address]:
    return resolve(host, port, timeout=TOTAL_SECONDS)


def _literal(target: Target) -> Address | None:
    """The address that stands in the URL itself; None for a name."""
    try:
        ip = ip_address(target.host)
    except ValueError:
        return None
    return Address(socket.AF_INET if ip.version == 4 else socket.AF_INET6, (str(ip), target.port))


def _tls_context() -> ssl.SSLContext:
    """TLS 1.2 or later, verified against the system's authorities."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _head(target: Target) -> str:
    host = f"[{target.host}]" if ":" in target.host else target.host
    port = "" if target.port == DEFAULT_PORTS[target.scheme] else f":{target.port}"
    fixed = "User-Agent: Backoffice\r\nAccept: */*\r\nAccept-Encoding: identity"
    return f"POST {target.path} HTTP/1.1\r\nHost: {host}{port}\r\n{fixed}\r\n"


def _request(route: _Route, headers: Mapping[str, str], body: bytes) -> bytes:
    """The bytes of a request.

    Raises:
        ValueError: A header would be more than one.
    """
    given = "\r\n".join([f"{name}: {value}" for name, value in headers.items()])
    if given.count("\n") != len(headers) - 1 or given.count("\r") != len(headers) - 1:
        raise ValueError("a header holds a line end")
    return f"{route.head}{given}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


_KINDS: tuple[tuple[tuple[type[BaseException], ...], type[FetchFailed], str], ...] = (
    ((AddressRefused,), FetchRefused, gettext_noop("refused address")),
    ((UrlRefused,), FetchRefused, gettext_noop("the URL is not allowed")),
    ((ssl.SSLCertVerificationError,), TLSFailed, gettext_noop("certificate not valid")),
    ((ssl.SSLError,), TLSFailed, gettext_noop("no secure connection")),
    ((socket.gaierror,), Unreachable, gettext_noop("host not found")),
    ((TimeoutError,), TimedOut, ""),
    ((OSError,), Unreachable, gettext_noop("connection failed")),
)


def _reason(error: BaseException) -> FetchFailed | None:
    """What the network and its libraries raise, as one of our reasons; None for what has nothing to do with them."""
    for kinds, reason, words in _KINDS:
        if isinstance(error, kinds):
            return reason() if reason is TimedOut else reason(words)
    return None
