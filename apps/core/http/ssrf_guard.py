"""The SSRF guard. It controls which hosts outgoing requests may reach, and all HTTP clients use it.

`check_url` checks a URL when it is saved and when it is used. The code that opens the socket also checks the addresses
of the host (`resolve_host`, or `check_addresses` in a client that looks up names itself) and connects only to a checked
address, so DNS rebinding has no effect.

`OUTGOING_ALLOW` lists private hosts that requests may reach, even over plain HTTP and on any port.
`OUTGOING_BLOCKED_HOSTS` lists blocked internal hosts with public addresses. `OUTGOING_BLOCKED_HOST_CHECK` is the
optional dotted path of a function that blocks host names, such as shop domains.
"""

import re
import socket
import string
import threading
from collections.abc import Collection, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

import idna
from django.conf import settings
from django.utils.module_loading import import_string

from apps.core.http.allowlist import NAME, NUMBER, IPAddress, get_allowed_hosts, get_refused_hosts
from apps.core.i18n.error_messages import NOT_A_URL
from apps.core.i18n.messages import define_message, define_text

URL_MAX_LENGTH = 4096
DEFAULT_PORTS = {"http": 80, "https": 443}
LOWEST_FREE_PORT = 1024

# Networks that are not public, although Python 3.11 treats them as global.
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
GLOBAL_UNICAST = IPv6Network("2000::/3")  # the part of IPv6 that is assigned to hosts
# NAT64 maps public IPv4 hosts to this prefix, so the embedded IPv4 address is checked.
NAT64 = IPv6Network("64:ff9b::/96")

# Names that only local resolvers know. Names without a dot are also local.
LOCAL_SUFFIXES = (
    *(".localhost", ".localdomain", ".local", ".internal", ".intranet"),
    *(".private", ".corp", ".home", ".lan", ".home.arpa"),
)

# Reject these characters. Parsers disagree about them: urlsplit() silently removes tabs and line breaks, and browsers
# treat a backslash as a slash.
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]")

_MUST_USE = define_message("http.must_use", "must use {schemes}")
_NOT_ALLOWED = define_text("http.is_not_allowed", "is not an allowed address")
_WRONG_PORT = define_text("http.wrong_port", "must use port 80, 443, or 1024 and above")
_HAS_PASSWORD = define_text("http.has_password", "must not contain a user name or password")
_HAS_FRAGMENT = define_text("http.has_fragment", "must not contain a fragment")


class UrlRefused(ValueError):
    """Raised when a URL breaks a rule. The message continues a field name, as in "URL must use https"."""


class AddressRefused(UrlRefused):
    """Raised when outgoing requests must not reach a host.

    The message is the same for all reasons, so that callers cannot map the internal network.
    """

    def __init__(self) -> None:
        super().__init__(_NOT_ALLOWED)


@dataclass(frozen=True, slots=True)
class Target:
    """The parts of a checked URL, so that no second parser can interpret the URL differently.

    `host` is a lowercase ASCII name or an IP address without brackets. `path` includes the query.
    """

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """Return the host, with the port if it is not the default port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """Return the canonical URL."""
        return f"{self.scheme}://{self.authority}{self.path}"


@dataclass(frozen=True, slots=True)
class Address:
    """An address of a host, in the form that `socket.connect` accepts."""

    family: socket.AddressFamily
    sockaddr: tuple[Any, ...]


def is_public(ip: IPAddress) -> bool:
    """Return True if the address, or the IPv4 address embedded in it, is on the public internet."""
    ip = _unwrap(ip)
    if not ip.is_global or any(ip in network for network in NEVER_PUBLIC):
        return False
    return isinstance(ip, IPv4Address) or ip in GLOBAL_UNICAST


def is_own_address(ip: IPAddress) -> bool:
    """Return True if the address belongs to this machine, even if it is public.

    Connecting a datagram socket sends no packets. The kernel only selects the source address.
    """
    family = socket.AF_INET if isinstance(ip, IPv4Address) else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(ip), LOWEST_FREE_PORT))
            return ip_address(probe.getsockname()[0]) == ip
    except OSError:  # no route, so no connection is possible
        return False


def check_url(url: str, *, schemes: Collection[str]) -> Target:
    """Check a URL without a DNS lookup. Call this function when a URL is saved and when it is used.

    Without a lookup, unknown names are valid. The addresses are checked when the socket is opened.
    `OUTGOING_BLOCKED_HOST_CHECK` may query the database, so asyncio clients call this function in a thread.
    `AddressRefused` means that the host is private, local or internal. Any other `UrlRefused` states the broken rule.
    """
    parts = _split(url)
    scheme_error = UrlRefused(_MUST_USE(schemes=" or ".join(sorted(schemes))))
    if parts.scheme not in DEFAULT_PORTS:
        raise scheme_error
    host = _canonical_host(parts.hostname or "")
    port = DEFAULT_PORTS[parts.scheme] if parts.port is None else parts.port
    if not _is_allowed(host):
        is_refused = _is_private(host) if isinstance(host, str) else not _may_connect(host)
        if is_refused:
            raise AddressRefused
        if parts.scheme not in schemes:
            raise scheme_error
        if port not in DEFAULT_PORTS.values() and port < LOWEST_FREE_PORT:
            raise UrlRefused(_WRONG_PORT)
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    return Target(parts.scheme, str(host), port, quote(path, safe=string.punctuation))


def resolve_host(host: str, port: int, *, timeout: float | None = None) -> list[Address]:
    """Look up a host and check all addresses. Callers must connect only to the returned addresses.

    Errors are `AddressRefused`, `TimeoutError`, and `socket.gaierror` for an unknown name.
    """
    addresses = _look_up(host, port, timeout)
    check_addresses(host, (address.sockaddr[0] for address in addresses))
    return addresses


def check_addresses(host: str, records: Iterable[str]) -> None:
    """Raise `AddressRefused` for a private or internal address. `host` is "" if the URL contains an IP address."""
    if not get_allowed_hosts().has(host) and not all(_may_connect(ip_address(record)) for record in records):
        raise AddressRefused


def _split(url: str) -> SplitResult:
    """Split a URL into parts. Refuse a URL that different parsers could interpret differently."""
    try:
        url.encode()  # raises an error for lone surrogates
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises an error for invalid ports
    except ValueError:
        raise UrlRefused(NOT_A_URL) from None
    if len(url) > URL_MAX_LENGTH or _UNSAFE.search(url):
        raise UrlRefused(NOT_A_URL)
    if "@" in parts.netloc:
        raise UrlRefused(_HAS_PASSWORD)
    if "#" in url:
        raise UrlRefused(_HAS_FRAGMENT)
    return parts


def _canonical_host(host: str) -> str | IPAddress:
    """Return an IP address if the host is written as an address, otherwise a lowercase ASCII name."""
    if "%" in host:  # "%" begins an escape sequence or an IPv6 zone. Only link-local addresses need a zone.
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
    return get_allowed_hosts().has(host if isinstance(host, str) else _unwrap(host))


def _is_private(name: str) -> bool:
    """Return True if a name is local or internal, without a lookup."""
    if "." not in name or name.endswith(LOCAL_SUFFIXES) or name == socket.gethostname().lower():
        return True
    path = getattr(settings, "OUTGOING_BLOCKED_HOST_CHECK", "")
    return get_refused_hosts().has(name) or bool(path and import_string(path)(name))


def _may_connect(ip: IPAddress) -> bool:
    plain = _unwrap(ip)
    return _is_allowed(ip) or (is_public(ip) and not get_refused_hosts().has(plain) and not is_own_address(plain))


def _unwrap(ip: IPAddress) -> IPAddress:
    """Return the IPv4 address embedded in an IPv6 address, otherwise the address itself."""
    if isinstance(ip, IPv4Address):
        return ip
    return IPv4Address(int(ip) & 0xFFFFFFFF) if ip in NAT64 else ip.ipv4_mapped or ip


def _look_up(host: str, port: int, timeout: float | None) -> list[Address]:
    """Call `getaddrinfo` with a time limit.

    After a timeout, the lookup thread continues until the system's resolver gives up.
    """
    result: Future[list[Address]] = Future()

    def look_up() -> None:
        try:
            records = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            result.set_result([Address(family, sockaddr) for family, _, _, _, sockaddr in records])
        except Exception as error:  # raised again in the caller
            result.set_exception(error)

    threading.Thread(target=look_up, name="outgoing-lookup", daemon=True).start()
    return result.result(timeout)
