"""Reading settings from the environment: each variable has a kind, and a bad value is one sentence that names it."""

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
def told_in_a_sentence() -> Iterator[None]:
    """End the process with one sentence, and no traceback, where the environment is not as it must be."""
    try:
        yield
    except ImproperlyConfigured as error:
        raise SystemExit(f"Backoffice cannot start: {error}") from None


def text(name: str, default: str = "") -> str:
    """Any text; an empty variable is like none."""
    return os.environ.get(name) or default


def whole(name: str, default: int, *, least: int = 0, most: int = 2**31) -> int:
    """A whole number."""
    given = os.environ.get(name, "").strip()
    if not given:
        return default
    if not (given.isascii() and given.isdigit() and least <= int(given[:12]) <= most):
        _refuse(name, f"a whole number between {least} and {most}" if most < 2**31 else f"a whole number from {least}")
    return int(given)


def number(name: str, default: float) -> float:
    """A number above 0."""
    given = os.environ.get(name, "").strip()
    try:
        value = float(given) if given else default
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        _refuse(name, "a number above 0")
    return value


def switch(name: str, *, default: bool) -> bool:
    """``on`` or ``off``."""
    value = text(name, "on" if default else "off").lower()
    if value not in {"on", "off"}:
        _refuse(name, "on or off")
    return value == "on"


def day(name: str) -> date | None:
    """A day such as 2026-12-31; None without one."""
    given = text(name)
    try:
        return date.fromisoformat(given) if given else None
    except ValueError:
        _refuse(name, "a day such as 2026-12-31")


def words(name: str, default: str = "") -> list[str]:
    """What stands between commas."""
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def choice(name: str, default: str, among: Collection[str]) -> str:
    """One of some words, whatever their case."""
    value = text(name, default)
    if value.upper() not in among:
        _refuse(name, f"one of {', '.join(among)}")
    return value.upper()


def hosts(url: str) -> list[SplitResult]:
    """The hosts of an address, each with its port if it has one: it may name several, with commas between them.

    Raises:
        ValueError: It is no address.
    """
    return [urlsplit(f"//{place}") for place in urlsplit(url).netloc.rpartition("@")[2].split(",")]


def url(name: str, default: str, schemes: Collection[str], *, bare: Collection[str] = (), several: bool = False) -> str:
    """An address.

    Args:
        name: The variable.
        default: What it is without one.
        schemes: Those that are taken.
        bare: Those of them that need no host.
        several: Whether it may have several hosts, with commas between them.
    """
    given = text(name, default)
    scheme = given.partition(":")[0]
    try:
        parts = urlsplit(given)
        found = [(place.hostname, place.port) for place in (hosts(given) if several else [parts])]
    except ValueError:
        _refuse(name, "an address such as " + _example(schemes), secret=True)
    is_bare = scheme in bare and len(found) == 1
    if "://" not in given or scheme not in schemes or not (all(host for host, _ in found) or is_bare):
        _refuse(name, "an address such as " + _example(schemes), secret=True)
    return given


def brokers(name: str) -> dict[str, str]:
    """Message brokers by the names that the operator gives them: ``NAME=amqp://USER:PASSWORD@HOST/VHOST?exchange=E``."""
    found: dict[str, str] = {}
    for word in words(name):
        key, _, address = word.partition("=")
        try:
            parts = urlsplit(address)
            is_address = parts.scheme in {"amqp", "amqps"} and bool(parts.hostname)
            is_whole = is_address and bool(dict(parse_qsl(parts.query)).get("exchange"))
        except ValueError:
            is_whole = False
        if not (is_whole and re.fullmatch(r"[a-z0-9-]{1,60}", key)) or key in found:
            wanted = "brokers such as NAME=amqp://USER:PASSWORD@HOST/VHOST?exchange=EXCHANGE, with commas between them"
            _refuse(name, wanted, secret=True)
        found[key] = address
    if found and find_spec("aio_pika") is None:
        raise ImproperlyConfigured(f"{name} needs the package aio-pika: uv sync --extra amqp.")
    return found


def collector(name: str) -> str:
    """The address of a collector of traces; none where it is not set."""
    if not text(name):
        return ""
    given = url(name, "", ("http", "https"))
    if find_spec("opentelemetry") is None:
        raise ImproperlyConfigured(f"{name} needs the packages of OpenTelemetry: uv sync --extra otel.")
    return given


def networks(name: str) -> tuple[Network, ...]:
    """Addresses and networks such as 10.0.0.0/8."""
    found: list[Network] = []
    for word in words(name):
        try:
            found.append(ip_network(word, strict=False))
        except ValueError:
            _refuse(name, "addresses or networks such as 10.0.0.0/8, with commas between them")
    return tuple(found)


def folder(name: str, default: Path) -> Path:
    """A folder in which files can be written; made where it is missing."""
    path = Path(text(name, str(default))).resolve()
    try:
        path.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise ImproperlyConfigured(f"{name}: nothing can be written into {path} ({error.strerror}).") from None
    return path


def _example(schemes: Collection[str]) -> str:
    return " or ".join(f"{scheme}://…" for scheme in schemes)


def _refuse(name: str, wanted: str, *, secret: bool = False) -> NoReturn:
    """Addresses hold passwords, so what was given is not repeated for them."""
    shown = "" if secret else f", not {os.environ.get(name, '')!r}"
    raise ImproperlyConfigured(f"{name} must be {wanted}{shown}.")
