"""Fixtures for the public Python client of the reference platform, connected to a real server."""

import os
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.test import override_settings
from pytest_django import DjangoDbBlocker

from apps.shops.models import Installation, Shop
from backoffice.storages import get_storage_settings
from tests import factories
from tests.timing import get_time_limit

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import shopify

VERSION = "2026-07"
WORKER = ("-A", "backoffice.celery", "worker", "--pool", "solo", "--loglevel", "WARNING")

Connect = Callable[..., Installation]


def find_free_port() -> int:
    """Return an unused port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class LiveServer:
    """A web process with the test's database and the brand that the client expects."""

    def __init__(self, database_url: str, data_dir: Path, **env: str) -> None:
        self.data_dir = data_dir
        self.port = find_free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.env = {
            **os.environ,
            "DATABASE_URL": database_url,
            "BACKOFFICE_DATA_DIR": str(data_dir),
            "BACKOFFICE_BRAND": "shopify",
            "BACKOFFICE_SECRET_KEY": settings.SECRET_KEY,
            "BACKOFFICE_BASE_URL": self.url,
            "BACKOFFICE_RATE_LIMIT": "off",
            "BACKOFFICE_OUTGOING_ALLOW": "127.0.0.1",
            "PORT": str(self.port),
            "WEB_PROCESSES": "1",
            # SQLite writers wait for each other and for a busy disk, so allow a longer lock timeout.
            **({"BACKOFFICE_LOCK_TIMEOUT_MS": "20000"} if database_url.startswith("sqlite:") else {}),
            **env,
        }
        self._started: list[subprocess.Popen[bytes]] = []
        self.process = self.start("backoffice.serve")

    def start(self, module: str, *arguments: str) -> subprocess.Popen[bytes]:
        """Start another process of the same installation."""
        self._started.append(self.spawn(module, *arguments))
        return self._started[-1]

    def spawn(self, module: str, *arguments: str) -> "subprocess.Popen[bytes]":
        """Start a process. Subclasses may redirect the output."""
        return subprocess.Popen([sys.executable, "-m", module, *arguments], cwd=settings.BASE_DIR, env=self.env)

    def wait(self) -> None:
        """Wait until the server responds."""
        until = time.monotonic() + get_time_limit(60)
        while time.monotonic() < until:
            with socket.socket() as probe:
                probe.settimeout(0.5)
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            assert self.process.poll() is None, "the server ended at once"
            time.sleep(0.1)
        raise AssertionError("the server did not start")

    def stop(self) -> None:
        """Stop the server and any processes left over from a failed test."""
        for process in self._started:
            if process.poll() is None:
                stop_process(process)


def stop_process(process: subprocess.Popen[bytes]) -> None:
    """Stop a process with SIGTERM, as an operator would."""
    process.terminate()
    process.wait(timeout=30)


def get_database_url() -> str:
    """Return the URL of the tests' database."""
    values = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{values['NAME']}"
    return (
        f"postgres://{values['USER']}:{values['PASSWORD']}@{values['HOST']}:{values['PORT'] or 5432}/{values['NAME']}"
    )


@pytest.fixture(scope="session")
def server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """Yield a running server for all tests; each test has its own shop, and ids are never reused."""
    running = LiveServer(get_database_url(), tmp_path_factory.mktemp("server"))
    running.wait()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def worker(server: LiveServer) -> Iterator[None]:
    """Run a worker for the server's installation, and the scheduler that recovers jobs after lost messages."""
    processes = [server.start("celery", *WORKER), server.start("celery", "-A", "backoffice.celery", "beat")]
    yield
    for process in processes:
        stop_process(process)


@pytest.fixture(scope="module")
def db(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Use the test database with real commits. Flush once per module, because a flush takes seconds on PostgreSQL.

    The fixture is named ``db`` because pytest-django only creates the test database for tests that request ``db``.
    """
    with django_db_blocker.unblock():
        yield
        call_command("flush", verbosity=0, interactive=False)


@pytest.fixture
def server_shop(server: LiveServer, db: None) -> Iterator[Shop]:
    """Create a new shop for each test. The shop's files are in the server's directory."""
    with override_settings(STORAGES={**settings.STORAGES, **get_storage_settings("", server.data_dir / "media")}):
        yield factories.make_shop(name="Client Shop", timezone="Europe/Berlin")


@pytest.fixture
def api_client_factory(server: LiveServer, server_shop: Shop) -> Iterator[Connect]:
    """Return a function that installs a new app with scopes and activates a client session for the app."""
    shopify.Session.setup(api_key="x", secret="y", myshopify_domain="0.0.1", protocol="http", port=server.port)
    shopify.ApiVersion.coerce_to_version("unstable")
    if VERSION not in shopify.ApiVersion.versions:
        shopify.ApiVersion.define_version(shopify.Release(VERSION))

    def make(*scopes: str) -> Installation:
        installation = factories.make_installation(server_shop, scopes or factories.ALL_SCOPES)
        session = shopify.Session("127.0.0.1", VERSION, factories.make_token(installation))
        shopify.ShopifyResource.activate_session(session)
        return installation

    yield make
    shopify.ShopifyResource.clear_session()
