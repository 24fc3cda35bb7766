"""Read and validate environment variables.

The error for an invalid value is a single sentence that contains the name of the variable.
"""

import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import date
from importlib.util import find_spec
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from tempfile import TemporaryFile
from typing import NoReturn
from urllib.parse import SplitResult, parse_qsl, urlsplit

from django.core.exceptions import ImproperlyConfigured

Network = IPv4Network | IPv6Network


@contextmanager
def exit_on_configuration_error() -> Iterator[None]:
    """Exit with a single sentence instead of a traceback if the configuration is invalid."""
    try:
        yield
    except ImproperlyConfigured as error:
        raise SystemExit(f"Backoffice cannot start: {error}") from None


def get_text(name: str, default: str = "") -> str:
    """Return the value of a variable, or the default if the variable is empty or not set."""
    return os.environ.get(name) or default


def get_integer(name: str, default: int, *, least: int = 0, most: int = 2**31) -> int:
    """Return the integer in a variable. Check that the integer is in the allowed range."""
    value = os.environ.get(name, "").strip()
    if not value:
        return default
    if not (value.isascii() and value.isdigit() and least <= int(value[:12]) <= most):
        _refuse(
            name,
            f"a whole number between {least} and {most}" if most < 2**31 else f"a whole number of at least {least}",
        )
    return int(value)


def get_number(name: str, default: float) -> float:
    """Return the number in a variable, which must be greater than 0."""
    raw_value = os.environ.get(name, "").strip()
    try:
        value = float(raw_value) if raw_value else default
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        _refuse(name, "a number above 0")
    return value


def get_flag(name: str, *, default: bool) -> bool:
    """Return True for ``on`` and False for ``off``."""
    value = get_text(name, "on" if default else "off").lower()
    if value not in {"on", "off"}:
        _refuse(name, "on or off")
    return value == "on"


def get_date(name: str) -> date | None:
    """Return the date in a variable, e.g. 2026-12-31, or None if the variable is not set."""
    value = get_text(name)
    try:
        return date.fromisoformat(value) if value else None
    except ValueError:
        _refuse(name, "a date such as 2026-12-31")


def get_list(name: str, default: str = "") -> list[str]:
    """Return the items of a comma-separated list."""
    return [word.strip() for word in get_text(name, default).split(",") if word.strip()]


def get_choice(name: str, default: str, among: Collection[str]) -> str:
    """Return the value of a variable if it is one of the choices, ignoring case."""
    value = get_text(name, default)
    if value.upper() not in among:
        _refuse(name, f"one of {', '.join(among)}")
    return value.upper()


def parse_hosts(url: str) -> list[SplitResult]:
    """Return the hosts and ports of a URL. A database URL may name several hosts, separated by commas.

    Raises:
        ValueError: The URL is invalid.
    """
    return [urlsplit(f"//{host}") for host in urlsplit(url).netloc.rpartition("@")[2].split(",")]


def get_url(
    name: str, default: str, schemes: Collection[str], *, bare: Collection[str] = (), allow_several: bool = False
) -> str:
    """Return the URL in a variable. Check that the scheme is allowed and that the hosts are valid.

    Args:
        name: The name of the variable.
        default: The value if the variable is not set.
        schemes: The allowed schemes.
        bare: The schemes that do not need a host.
        allow_several: True to allow several hosts, separated by commas.
    """
    value = get_text(name, default)
    scheme = value.partition(":")[0]
    try:
        parts = urlsplit(value)
        host_ports = [(split.hostname, split.port) for split in (parse_hosts(value) if allow_several else [parts])]
    except ValueError:
        _refuse(name, "a URL such as " + _example(schemes), secret=True)
    is_bare = scheme in bare and len(host_ports) == 1
    if "://" not in value or scheme not in schemes or not (all(host for host, _ in host_ports) or is_bare):
        _refuse(name, "a URL such as " + _example(schemes), secret=True)
    return value


def get_brokers(name: str) -> dict[str, str]:
    """Map broker names to addresses, parsed from a list of ``NAME=amqp://USER:PASSWORD@HOST/VHOST?exchange=E``."""
    brokers_by_name: dict[str, str] = {}
    for word in get_list(name):
        key, _, address = word.partition("=")
        try:
            parts = urlsplit(address)
            is_address = parts.scheme in {"amqp", "amqps"} and bool(parts.hostname)
            is_complete = is_address and bool(dict(parse_qsl(parts.query)).get("exchange"))
        except ValueError:
            is_complete = False
        if not (is_complete and re.fullmatch(r"[a-z0-9-]{1,60}", key)) or key in brokers_by_name:
            expected = "brokers such as NAME=amqp://USER:PASSWORD@HOST/VHOST?exchange=EXCHANGE, separated by commas"
            _refuse(name, expected, secret=True)
        brokers_by_name[key] = address
    if brokers_by_name and find_spec("aio_pika") is None:
        raise ImproperlyConfigured(f"{name} needs the package aio-pika. Install it with: uv sync --extra amqp")
    return brokers_by_name


def get_collector_url(name: str) -> str:
    """Return the URL of a trace collector, or "" if the variable is not set."""
    if not get_text(name):
        return ""
    value = get_url(name, "", ("http", "https"))
    if find_spec("opentelemetry") is None:
        raise ImproperlyConfigured(f"{name} needs the OpenTelemetry packages. Install them with: uv sync --extra otel")
    return value


def get_networks(name: str) -> tuple[Network, ...]:
    """Return the IP addresses and networks, such as 10.0.0.0/8, in a comma-separated list."""
    parsed: list[Network] = []
    for word in get_list(name):
        try:
            parsed.append(ip_network(word, strict=False))
        except ValueError:
            _refuse(name, "IP addresses or networks such as 10.0.0.0/8, separated by commas")
    return tuple(parsed)


def get_folder(name: str, default: Path) -> Path:
    """Return the path of a writable folder. Create the folder if it does not exist."""
    path = Path(get_text(name, str(default))).resolve()
    try:
        path.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise ImproperlyConfigured(f"{name}: can't write to {path} ({error.strerror}).") from None
    return path


def _example(schemes: Collection[str]) -> str:
    return " or ".join(f"{scheme}://…" for scheme in schemes)


def _refuse(name: str, expected: str, *, secret: bool = False) -> NoReturn:
    """Raise the error for an invalid value. Omit a ``secret`` value, because it may contain a password."""
    suffix = "" if secret else f", not {os.environ.get(name, '')!r}"
    raise ImproperlyConfigured(f"{name} must be {expected}{suffix}.")
