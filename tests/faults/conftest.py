"""The database as something that fails: refusing, locked, changed under running processes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from pytest_django import DjangoDbBlocker

from apps.shops.models import Shop
from tests import factories
from tests.client.conftest import database_url

Sql = Callable[[str], None]


@pytest.fixture(scope="module")
def transactional_db(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The test database, with real commits, emptied behind each module: after each test it takes PostgreSQL seconds."""
    with django_db_blocker.unblock():
        yield
        connection.close()
        call_command("flush", verbosity=0, interactive=False)


@pytest.fixture
def db(transactional_db: None) -> None:
    """Each test has a shop of its own in it."""


@pytest.fixture
def shop(db: None) -> Shop:
    """A new shop, beside those of other tests."""
    return factories.make_shop()


@contextmanager
def another_connection() -> Iterator[Any]:
    """A connection to the test's database that Django knows nothing of, as another process has."""
    if connection.vendor == "sqlite":
        import sqlite3

        other: Any = sqlite3.connect(connection.settings_dict["NAME"], timeout=30, isolation_level=None)
    else:
        import psycopg

        other = psycopg.connect(database_url(), autocommit=True)
    try:
        yield other
    finally:
        other.close()


@pytest.fixture
def from_elsewhere() -> Sql:
    """Runs SQL as another process would."""

    def run(sql: str) -> None:
        with another_connection() as other:
            other.execute(sql)

    return run


@pytest.fixture
def retype(from_elsewhere: Sql) -> Iterator[Callable[[str], None]]:
    """Gives a column another type; it gets its own back, and later tests run no statement prepared before."""

    def change(kind: str) -> None:
        from_elsewhere(f"ALTER TABLE content_scripttag ALTER COLUMN src TYPE {kind}")

    yield change
    change("varchar(255)")
    connection.close()


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whoever connects to the database now is refused."""
    connection.close()
    with monkeypatch.context() as patch:
        if connection.vendor == "sqlite":
            patch.setitem(connection.settings_dict, "NAME", "/nowhere/at all.sqlite3")
        else:
            patch.setitem(connection.settings_dict, "PORT", "1")
        yield
        connection.close()
