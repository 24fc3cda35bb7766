"""The address guard: which hosts an outgoing request may reach. Every client goes through it.

It is asked when a URL is saved and when it is used (`vet_url`), and again by the code that opens the socket (`resolve`,
or `vet_addresses` in a client with its own lookup), which connects to the very address that was vetted. A name that
changes its address in between therefore gains nothing.

What `OUTGOING_ALLOW` names may be reached although private or ours, then also by plain http and on any port.
`OUTGOING_REFUSED_HOSTS` names what is ours although public; `OUTGOING_REFUSED_HOST_CHECK` is the optional dotted path
of a function that says so of a host name, such as a shop's domain.
"""

import re
import socket
import string
import threading
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

import idna
from django.conf import settings
from django.utils.module_loading import import_string
from django.utils.translation import gettext_noop

from apps.ground.phrases import NOT_A_URL
from apps.ground.retelling import tells
from apps.outgoing.host_lists import NAME, NUMBER, IPAddress, allowed_hosts, refused_hosts

URL_MAX_LENGTH = 4096
DEFAULT_PORTS = {"http": 80, "https": 443}
LOWEST_FREE_PORT = 1024

# Python 3.11 calls all of these global.
NEVER_PUBLIC = tuple(
    ip_network(text)
    for text in (
        "192.0.0.0/24",  # protocol assignments
        "192.88.99.0/24",  # 6to4 relays
        "224.0.0.0/4",  # multicast
        "::/96",  # IPv4-compatible
        "64:ff9b:1::/48",  # translation inside a network
        "2001::/23",  # protocol assignments, Teredo
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation
        "5f00::/16",  # segment routing
        "fec0::/10",  # site-local
        "ff00::/8",  # multicast
    )
)
GLOBAL_UNICAST = IPv6Network("2000::/3")  # all of IPv6 that is handed out to hosts
# Where a network translates, public IPv4 hosts appear under this prefix: the wrapped address decides.
NAT64 = IPv6Network("64:ff9b::/96")

# Names that no public resolver knows; the same goes for every name without a dot.
LOCAL_NAMES = (
    "localhost",
    "localdomain",
    "local",
    "internal",
    "intranet",
    "private",
    "corp",
    "home",
    "lan",
    "home.arpa",
)
LOCAL_SUFFIXES = tuple(f".{name}" for name in LOCAL_NAMES)

# urlsplit() silently drops tabs and line ends, and browsers read a backslash as a slash.
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]")

# A person may be told it in another language.
_MUST_USE = tells(gettext_noop("must use {schemes}"))


class UrlRefused(ValueError):
    """The URL breaks a rule; the message reads after a field's name ("must use https")."""


class AddressRefused(UrlRefused):
    """The host is not to be reached. One wording for every reason, so that nobody can map our network with it."""

    def __init__(self) -> None:
        super().__init__(gettext_noop("is not an allowed address"))


@dataclass(frozen=True, slots=True)
class Target:
    """A vetted URL in parts, so that no second parser can read it in another way.

    `host` is a lower-case ASCII name or an IP address without brackets; `path` includes the query.
    """

    scheme: str
    host: str
    port: int
    path: str

    @property
    def url(self) -> str:
        """The URL in its canonical form."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.path}"


@dataclass(frozen=True, slots=True)
class Address:
    """One record of a host, as `socket.connect` takes it."""

    family: socket.AddressFamily
    sockaddr: tuple[Any, ...]


def is_public(ip: IPAddress) -> bool:
    """Whether the address belongs to a host on the public internet, going by what it wraps."""
    ip = _unwrapped(ip)
    if not ip.is_global or any(ip in network for network in NEVER_PUBLIC):
        return False
    return isinstance(ip, IPv4Address) or ip in GLOBAL_UNICAST


def is_own(ip: IPAddress) -> bool:
    """Whether the address is one of this machine's, be it a public one.

    Connecting a datagram socket sends nothing; the kernel only picks the address that it would send from.
    """
    family = socket.AF_INET if isinstance(ip, IPv4Address) else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(ip), LOWEST_FREE_PORT))
            return ip_address(probe.getsockname()[0]) == ip
    except OSError:  # no route, so no connection either
        return False


def vet_url(url: str, *, schemes: Collection[str]) -> Target:
    """Check a URL by its text alone, when it is saved and again when it is used.

    Looks nothing up: a name that does not resolve is no error here, and what it resolves to is vetted at the socket.
    Only `OUTGOING_REFUSED_HOST_CHECK` may query the database, so an asyncio client calls this in a thread.

    Args:
        url: An absolute URL as somebody sent it.
        schemes: The accepted ones of "http" and "https".

    Raises:
        AddressRefused: The host is private, local or ours.
        UrlRefused: Another rule is broken; the message says which.
    """
    parts = _split(url)
    wanted = UrlRefused(_MUST_USE.format(schemes=" or ".join(sorted(schemes))))
    if parts.scheme not in DEFAULT_PORTS:
        raise wanted
    host = _canonical_host(parts.hostname or "")
    port = DEFAULT_PORTS[parts.scheme] if parts.port is None else parts.port
    if not _is_allowed(host):
        refused = _is_private(host) if isinstance(host, str) else not _may_connect(host)
        if refused:
            raise AddressRefused
        if parts.scheme not in schemes:
            raise wanted
        if port not in DEFAULT_PORTS.values() and port < LOWEST_FREE_PORT:
            raise UrlRefused(gettext_noop("must use port 80, 443, or 1024 and above"))
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    return Target(parts.scheme, str(host), port, quote(path, safe=string.punctuation))


def resolve(host: str, port: int, *, timeout: float | None = None) -> list[Address]:
    """Look a host up and vet every record; connect to the result and to nothing else.

    Args:
        host: A name, or an IP address without brackets.
        port: The port to connect to.
        timeout: Seconds; the system's resolver has no limit of its own that we could set.

    Raises:
        AddressRefused: Any record is private or ours.
        TimeoutError: The lookup took too long.
        socket.gaierror: The name is unknown.
    """
    addresses = _look_up(host, port, timeout)
    vet_addresses(host, (address.sockaddr[0] for address in addresses))
    return addresses


def vet_addresses(host: str, records: Iterable[str]) -> None:
    """Vet what a host resolved to, or (with the host "") the address of a socket that is about to connect.

    Raises:
        AddressRefused: Any of the addresses is private or ours.
    """
    if not allowed_hosts().has(host) and not all(_may_connect(ip_address(record)) for record in records):
        raise AddressRefused


def _split(url: str) -> SplitResult:
    """The URL in parts, if its text leaves no doubt about what they are."""
    try:
        url.encode()  # refuses lone surrogates
        parts = urlsplit(url)
        parts.port  # noqa: B018 - refuses what is not a port number
    except ValueError:
        raise UrlRefused(NOT_A_URL) from None
    if len(url) > URL_MAX_LENGTH or _UNSAFE.search(url):
        raise UrlRefused(NOT_A_URL)
    if "@" in parts.netloc:
        raise UrlRefused(gettext_noop("must not contain a user name or password"))
    if "#" in url:
        raise UrlRefused(gettext_noop("must not contain a fragment"))
    return parts


def _canonical_host(host: str) -> str | IPAddress:
    """The one form of a host: an address if it is one in the plain notation, else a lower-case ASCII name."""
    if "%" in host:  # an escape, or an IPv6 zone, which only a link-local address needs
        raise AddressRefused
    try:
        if ":" in host:
            return IPv6Address(host)
        if not host.isascii():
            host = idna.encode(host, uts46=True).decode()
        host = host.removesuffix(".")
        if NUMBER.fullmatch(host):
            return IPv4Address(host)
    except idna.IDNAError:
        raise UrlRefused(NOT_A_URL) from None
    except ValueError:
        raise AddressRefused from None
    if not NAME.fullmatch(host):
        raise UrlRefused(NOT_A_URL)
    return host


def _is_allowed(host: str | IPAddress) -> bool:
    return allowed_hosts().has(host if isinstance(host, str) else _unwrapped(host))


def _is_private(name: str) -> bool:
    """Whether a name is known without a lookup to be local or ours."""
    if "." not in name or name.endswith(LOCAL_SUFFIXES) or name == socket.gethostname().lower():
        return True
    check: Callable[[str], bool] | None = None
    if path := getattr(settings, "OUTGOING_REFUSED_HOST_CHECK", ""):
        check = import_string(path)
    return refused_hosts().has(name) or (check is not None and check(name))


def _may_connect(ip: IPAddress) -> bool:
    plain = _unwrapped(ip)
    return _is_allowed(ip) or (is_public(ip) and not refused_hosts().has(plain) and not is_own(plain))


def _unwrapped(ip: IPAddress) -> IPAddress:
    """The IPv4 address inside an IPv4-mapped or translated IPv6 address, else the address itself."""
    if isinstance(ip, IPv4Address):
        return ip
    return IPv4Address(int(ip) & 0xFFFFFFFF) if ip in NAT64 else ip.ipv4_mapped or ip


def _look_up(host: str, port: int, timeout: float | None) -> list[Address]:
    """`getaddrinfo` with a time limit: the abandoned thread ends when the system's resolver gives up."""
    answer: Future[list[Address]] = Future()

    def ask() -> None:
        try:
            records = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            answer.set_result([Address(family, sockaddr) for family, _, _, _, sockaddr in records])
        except Exception as error:  # raised again in the caller
            answer.set_exception(error)

    threading.Thread(target=ask, name="outgoing-lookup", daemon=True).start()
    return answer.result(timeout)
