"""Load host lists from the settings: allowed private hosts and blocked internal hosts."""

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

IPAddress = IPv4Address | IPv6Address
IPNetwork = IPv4Network | IPv6Network

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")
# Matches names that end in a number, because C libraries parse 127.1, 2130706433, 0x7f.1 and 0177.0.0.1 as addresses.
NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")


@dataclass(frozen=True, slots=True)
class HostList:
    names: frozenset[str]
    networks: tuple[IPNetwork, ...]

    def has(self, host: str | IPAddress) -> bool:
        return host in self.names if isinstance(host, str) else any(host in network for network in self.networks)


def get_allowed_hosts() -> HostList:
    """Return the private hosts that outgoing requests may reach (`OUTGOING_ALLOW`)."""
    return _load("OUTGOING_ALLOW")


def get_refused_hosts() -> HostList:
    """Return the blocked internal hosts with public addresses, such as the database (`OUTGOING_BLOCKED_HOSTS`)."""
    return _load("OUTGOING_BLOCKED_HOSTS")


def _load(setting: str) -> HostList:
    entries: Iterable[str] = getattr(settings, setting, ())
    return _parse(setting, tuple(entries))


@functools.cache
def _parse(setting: str, entries: tuple[str, ...]) -> HostList:
    names, networks = set[str](), list[IPNetwork]()
    for entry in filter(None, (entry.strip().lower().rstrip(".") for entry in entries)):
        try:
            networks.append(ip_network(entry.strip("[]"), strict=False))
        except ValueError:
            if not NAME.fullmatch(entry) or NUMBER.fullmatch(entry):
                raise ImproperlyConfigured(f"{setting}: {entry!r} is neither a host nor a network") from None
            names.add(entry)
    return HostList(frozenset(names), tuple(networks))
