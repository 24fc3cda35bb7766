from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from apps.core.tenancy.models import Shop
from tests.support import factories
from tests.support.databases.emptying import empty_database
from tests.support.servers.live import LiveServer, get_database_url
from tests.support.servers.timed_client import Start

Sql = Callable[[str], None]
FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run these tests one after another in one process, together with the tests of workers.

    The tests wait most of the time. If several processes wait at once, a processor is idle.
    """
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("workers"))


@pytest.fixture(scope="module")
def transactional_db(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Use the test database with real commits. Empty the database once per module."""
    with django_db_blocker.unblock():
        yield
        connection.close()
        empty_database()


@pytest.fixture
def db(transactional_db: None) -> None:
    """Replace pytest-django's fixture: each test creates its own shop instead of flushing the database."""


@pytest.fixture
def shop(db: None) -> Shop:
    """Return a new shop. The database also contains the shops of other tests."""
    return factories.make_shop()


@contextmanager
def connect_from_outside() -> Iterator[Any]:
    if connection.vendor == "sqlite":
        import sqlite3

        other: Any = sqlite3.connect(connection.settings_dict["NAME"], timeout=30, isolation_level=None)
    else:
        import psycopg

        other = psycopg.connect(get_database_url(), autocommit=True)
    try:
        yield other
    finally:
        other.close()


@pytest.fixture
def run_sql_outside() -> Sql:
    def run(sql: str) -> None:
        with connect_from_outside() as other:
            other.execute(sql)

    return run


@pytest.fixture
def change_column_type(run_sql_outside: Sql) -> Iterator[Callable[[str], None]]:
    def change(kind: str) -> None:
        run_sql_outside(f"ALTER TABLE content_scripttag ALTER COLUMN src TYPE {kind}")

    yield change
    change("varchar(255)")
    connection.close()


@contextmanager
def refuse_connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    connection.close()
    name, value = ("NAME", "/nowhere/at all.sqlite3") if connection.vendor == "sqlite" else ("PORT", "1")
    with monkeypatch.context() as patch:
        patch.setitem(connection.settings_dict, name, value)
        yield
        connection.close()


@pytest.fixture
def refused_connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with refuse_connections(monkeypatch):
        yield


@pytest.fixture
def start_server(db: None, tmp_path: Path) -> Iterator[Start]:
    running: list[LiveServer] = []

    def make(url: str = "", **env: str) -> LiveServer:
        server = LiveServer(url or get_database_url(), tmp_path, **env)
        running.append(server)
        server.wait()
        return server

    yield make
    for server in running:
        server.stop()
