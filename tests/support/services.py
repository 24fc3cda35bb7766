"""Find the services that some tests need: PostgreSQL, PgBouncer, Redis, RabbitMQ, Chromium and Node.

If a service is missing, the tests are skipped, or fail with ``REQUIRE_PARTS=1``.
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
    # Block all other hosts by name. This is faster than intercepting every request, and errors appear in the console.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE *.localhost",
)
REQUIRED = os.environ.get("REQUIRE_PARTS") == "1"


def require_service(name: str, location: str | None) -> str:
    """Return the service's path or URL. If the service is missing, skip or fail the test."""
    if location is None:
        (pytest.fail if REQUIRED else pytest.skip)(f"needs {name}")
    return location


def skip_or_fail(item: pytest.Item, part: str) -> None:
    """Skip a test that needs a missing service, or stop the run if all services are required."""
    if REQUIRED:
        raise pytest.UsageError(f"{item.nodeid} needs {part}")
    item.add_marker(pytest.mark.skip(reason=f"needs {part}"))


def is_postgres() -> bool:
    """Return True if this run uses PostgreSQL. Each run uses one database, and CI runs the suite on both databases."""
    return settings.DATABASES["default"]["ENGINE"] == "django.db.backends.postgresql"


def get_redis_url() -> str | None:
    return os.environ.get("TEST_REDIS_URL") or ("redis://127.0.0.1:6379/15" if is_listening(6379) else None)


def get_rabbitmq_url() -> str | None:
    return os.environ.get("TEST_RABBITMQ_URL") or (
        "amqp://guest:guest@127.0.0.1:5672//" if is_listening(5672) else None
    )


def find_chromium() -> str | None:
    """Return the path of Chromium, preferably of the headless shell, which uses the fewest resources."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def find_pgbouncer() -> str | None:
    """Return the path of PgBouncer, which Debian installs outside most users' PATH."""
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def find_wrk() -> str | None:
    return shutil.which("wrk")


def find_node_packages() -> str | None:
    """Return the ``node_modules`` folder if Node is installed and npm has installed all packages."""
    folder = settings.BASE_DIR / "node_modules"
    # npm writes this file at the end of an installation.
    return str(folder) if shutil.which("node") and (folder / ".package-lock.json").exists() else None


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0
