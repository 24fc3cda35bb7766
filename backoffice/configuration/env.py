"""Read and validate environment variables. No other module reads settings from the environment.

The error for an invalid value is a single sentence that contains the name of the variable. django-environ converts URLs
of databases and mail servers to Django's settings.
"""

import os
import re
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import date
from difflib import get_close_matches
from importlib.util import find_spec
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeVar
from urllib.parse import SplitResult, parse_qsl, urlsplit

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError
from environ import Env

Network = IPv4Network | IPv6Network
Value = TypeVar("Value")
ROOT = Path(__file__).resolve().parents[2]
# The names of all variables that this process has read. After the settings have been loaded, these are all variables.
read_names: set[str] = set()
PREFIX = "BACKOFFICE_"
# Set for child processes, so that only the first process warns.
CHECKED = "_BACKOFFICE_VARIABLES_CHECKED"


@contextmanager
def exit_on_configuration_error() -> Iterator[None]:
    """Exit with a single sentence instead of a traceback if the configuration is invalid or a command refuses."""
    try:
        yield
    except (ImproperlyConfigured, CommandError) as error:
        raise SystemExit(f"Backoffice cannot start: {error}") from None


def warn_about_unknown_names() -> None:
    """Write a line to standard error for each ``BACKOFFICE_`` variable that is no setting, with the nearest name.

    The variable may be for another version, so an unknown name does not prevent the start.
    """
    if os.environ.get(CHECKED):
        return
    os.environ[CHECKED] = "1"
    known = [name.removeprefix(PREFIX) for name in read_names if name.startswith(PREFIX)]
    for name in sorted(name for name in os.environ if name.startswith(PREFIX) and name not in read_names):
        nearest = get_close_matches(name.removeprefix(PREFIX), known, n=1)
        hint = f" Did you mean {PREFIX}{nearest[0]}?" if nearest else " See docs/operators.md."
        sys.stderr.write(f"{name} is set, but Backoffice has no such setting.{hint}\n")


def _read(name: str) -> str:
    read_names.add(name)
    return os.environ.get(name, "")


def _parse(
    name: str,
    parse: Callable[[str], Value],
    default: Value,
    expected: str,
    *,
    is_valid: Callable[[Value], bool] = lambda _: True,
    is_secret: bool = False,
) -> Value:
    """Return the parsed value of a variable, or the default. The error message for a bad value omits secret values."""
    text = _read(name).strip()
    try:
        value = parse(text) if text else default
        if is_valid(value):
            return value
    except (ValueError, KeyError):
        pass
    suffix = "" if is_secret else f", not {text!r}"
    raise ImproperlyConfigured(f"{name} must be {expected}{suffix}.")


def get_text(name: str, default: str = "") -> str:
    """Return the value of a variable, or the default if the variable is empty or not set."""
    return _read(name) or default


def get_integer(name: str, default: int, *, least: int = 0, most: int = 2**31) -> int:
    """Return the integer in a variable. Check that the integer is in the allowed range."""
    expected = f"between {least} and {most}" if most < 2**31 else f"of at least {least}"
    return _parse(name, int, default, f"a whole number {expected}", is_valid=lambda value: least <= value <= most)


def get_number(name: str, default: float) -> float:
    """Return the number in a variable, which must be greater than 0."""
    return _parse(name, float, default, "a number above 0", is_valid=lambda value: 0 < value < float("inf"))


def get_flag(name: str, *, default: bool) -> bool:
    return _parse(name, lambda text: {"on": True, "off": False}[text.lower()], default, "on or off")


def get_date(name: str) -> date | None:
    return _parse(name, date.fromisoformat, None, "a date such as 2026-12-31")


def get_list(name: str, default: str = "") -> list[str]:
    return [word.strip() for word in get_text(name, default).split(",") if word.strip()]


def get_fonts(name: str) -> list[str]:
    """Return the paths of font files from a comma-separated list."""

    def is_font(path: str) -> bool:
        return Path(path).suffix.lower() in {".ttf", ".otf"} and Path(path).is_file()

    return _parse(
        name,
        lambda _: get_list(name),
        [],
        "a list of existing .ttf or .otf files",
        is_valid=lambda paths: all(map(is_font, paths)),
    )


def get_choice(name: str, default: str, among: Collection[str]) -> str:
    """Return the value of a variable if it is one of the choices, ignoring case."""
    return _parse(name, str.upper, default, f"one of {', '.join(among)}", is_valid=lambda value: value in among)


def get_choices(name: str, among: Collection[str]) -> dict[str, str]:
    """Map patterns to choices, parsed from a list of ``PATTERN=CHOICE``."""
    pairs = [(key.strip(), choice.strip()) for key, _, choice in (word.partition("=") for word in get_list(name))]
    return _parse(
        name,
        lambda _: dict(pairs),
        {},
        f"patterns of task names such as imports_exports.*=bulk, separated by commas, each with one of the queues "
        f"{', '.join(among)}",
        is_valid=lambda value: len(value) == len(pairs) and all(key and choice in among for key, choice in pairs),
    )


def get_networks(name: str) -> tuple[Network, ...]:
    def parse(_: str) -> tuple[Network, ...]:
        return tuple(ip_network(word, strict=False) for word in get_list(name))

    return _parse(name, parse, (), "IP addresses or networks such as 10.0.0.0/8, separated by commas")


def parse_hosts(url: str) -> list[SplitResult]:
    """Return the hosts and ports of a URL, or raise ``ValueError``. A database URL may name several hosts."""
    return [urlsplit(f"//{host}") for host in urlsplit(url).netloc.rpartition("@")[2].split(",")]


def get_url(
    name: str, default: str, schemes: Collection[str], *, bare: Collection[str] = (), allow_several: bool = False
) -> str:
    """Return the URL in a variable. Check that the scheme is allowed and that the hosts are valid.

    ``bare`` are the schemes that do not need a host. ``allow_several`` allows several hosts, separated by commas.
    """

    def is_valid(url: str) -> bool:
        scheme, separator, _ = url.partition("://")
        hosts = [(host.hostname, host.port) for host in (parse_hosts(url) if allow_several else [urlsplit(url)])]
        is_bare = scheme in bare and len(hosts) == 1
        return not url or (bool(separator) and scheme in schemes and (is_bare or all(host for host, _ in hosts)))

    expected = "a URL such as " + " or ".join(f"{scheme}://…" for scheme in schemes)
    return _parse(name, str, default, expected, is_valid=is_valid, is_secret=True)


def convert_database_url(url: str) -> dict[str, Any]:
    """Return Django's settings for a database URL. The driver tries several hosts until one accepts writes."""
    database: dict[str, Any] = Env.db_url_config(url)
    hosts = parse_hosts(url)
    if len(hosts) > 1:
        database["HOST"] = ",".join(str(host.hostname) for host in hosts)
        database["PORT"] = ",".join(str(host.port or 5432) for host in hosts)
        database.setdefault("OPTIONS", {}).setdefault("target_session_attrs", "read-write")
    return database


def get_email_settings(name: str, default: str) -> dict[str, Any]:
    return Env.email_url_config(get_url(name, default, Env.EMAIL_SCHEMES, bare=Env.EMAIL_SCHEMES))


def get_brokers(name: str) -> dict[str, str]:
    """Map broker names to addresses, parsed from a list of ``NAME=amqp://USER:PASSWORD@HOST/VHOST?exchange=E``."""
    pairs = [(key, address) for key, _, address in (word.partition("=") for word in get_list(name))]

    def is_broker(key: str, address: str) -> bool:
        url = urlsplit(address)
        is_address = url.scheme in {"amqp", "amqps"} and bool(url.hostname) and "exchange" in dict(parse_qsl(url.query))
        return is_address and re.fullmatch(r"[a-z0-9-]{1,60}", key) is not None

    brokers: dict[str, str] = _parse(
        name,
        lambda _: dict(pairs),
        {},
        "brokers such as NAME=amqp://USER:PASSWORD@HOST/VHOST?exchange=EXCHANGE, separated by commas",
        is_valid=lambda value: len(value) == len(pairs) and all(is_broker(*pair) for pair in pairs),
        is_secret=True,
    )
    if brokers and find_spec("aio_pika") is None:
        raise ImproperlyConfigured(f"{name} needs the package aio-pika. Install it with: uv sync --extra amqp")
    return brokers


def get_collector_url(name: str) -> str:
    url = get_url(name, "", ("http", "https"))
    if url and find_spec("opentelemetry") is None:
        raise ImproperlyConfigured(f"{name} needs the OpenTelemetry packages. Install them with: uv sync --extra otel")
    return url


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
