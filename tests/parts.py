"""The parts that some tests need and a bare machine lacks: PostgreSQL, PgBouncer, Redis, RabbitMQ, Chromium, Node.

With ``REQUIRE_PARTS=1`` a missing part fails the test instead of skipping it.
"""

import os
import shutil
import socket

import pytest
from django.conf import settings

CHROMIUM_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    # No other host is found, which the page's console tells: less work than to be told of each request.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE *.localhost",
)
REQUIRED = os.environ.get("REQUIRE_PARTS") == "1"


def need(name: str, found: str | None) -> str:
    """The part, or a skip that names it."""
    if found is None:
        (pytest.fail if REQUIRED else pytest.skip)(f"needs {name}")
    return found


def skip_or_fail(item: pytest.Item, part: str) -> None:
    """Skip a test that needs a missing part; where all parts are required, stop the run."""
    if REQUIRED:
        raise pytest.UsageError(f"{item.nodeid} needs {part}")
    item.add_marker(pytest.mark.skip(reason=f"needs {part}"))


def on_postgres() -> bool:
    """Whether this run's database is PostgreSQL; each run has one database, and CI runs both."""
    return settings.DATABASES["default"]["ENGINE"] == "django.db.backends.postgresql"


def redis_url() -> str | None:
    """Redis on the loopback interface."""
    return os.environ.get("TEST_REDIS_URL") or ("redis://127.0.0.1:6379/15" if listens(6379) else None)


def rabbitmq_url() -> str | None:
    """RabbitMQ on the loopback interface."""
    return os.environ.get("TEST_RABBITMQ_URL") or ("amqp://guest:guest@127.0.0.1:5672//" if listens(5672) else None)


def chromium() -> str | None:
    """The browser's path; the one that is made for running without a screen is the lightest."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def pgbouncer() -> str | None:
    """The path of the pooler, which Debian keeps out of most people's way."""
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def node_packages() -> str | None:
    """Return the folder with the packages of package.json if npm has installed all of them and Node can run them."""
    folder = settings.BASE_DIR / "node_modules"
    # npm writes this file last.
    return str(folder) if shutil.which("node") and (folder / ".package-lock.json").exists() else None


def listens(port: int) -> bool:
    """Whether somebody listens on a port of this machine."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0
