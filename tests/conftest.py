"""Fixtures for the whole test suite: shops, API clients and the services that tests need."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.db.backends.base.operations import BaseDatabaseOperations
from django.test import override_settings
from hypothesis import settings as hypothesis_settings
from pytest_django import DjangoDbBlocker, Settings
from time_machine import TimeMachineFixture

from apps.core.events import redaction
from apps.core.jobs import queue as jobs
from apps.core.rest.reading import render_cache
from apps.core.rest.requests import throttling
from apps.core.rest.requests.file_buckets import FileBucketStore
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from backoffice.configuration.storages import get_storage_settings
from tests.support import factories, services
from tests.support.api_client import ApiClient, ClientWith
from tests.support.databases.deadlocks import Deadlocks
from tests.support.databases.event_triggers import drop_event_triggers
from tests.support.second_database import is_in_second_run, uses_database
from tests.support.shared_shop import SHARED, SharedShop, get_fill, make_acme, uses_shop

# Failed assertions in these modules show their values, as in the modules of tests.
pytest.register_assert_rewrite("tests.api.route_checks", "tests.support.databases.snapshots")
# Hypothesis's time limit per example would fail on a slow machine.
hypothesis_settings.register_profile("untimed", deadline=None)
hypothesis_settings.load_profile("untimed")

DEADLOCKS = pytest.StashKey[Deadlocks]()


@pytest.fixture(scope="session", autouse=True)
def _temporary_storage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Store the tests' files in a temporary folder, and do not scan the panel's static files."""
    folder = tmp_path_factory.mktemp("files")
    # With finders, WhiteNoise would scan all static files for each client that a test creates.
    with override_settings(
        STORAGES={**settings.STORAGES, **get_storage_settings("", folder)}, WHITENOISE_USE_FINDERS=False
    ):
        yield


@pytest.fixture(scope="session", autouse=True)
def _flush_without_event_triggers() -> Iterator[None]:
    """Flush the database after transactional tests without the triggers that forbid deleting events."""
    clear = BaseDatabaseOperations.execute_sql_flush

    def lifted(operations: BaseDatabaseOperations, statements: list[str]) -> None:
        again_from_one = any("RESTART IDENTITY" in statement for statement in statements)
        if operations.connection.vendor == "postgresql" and not again_from_one:
            delete_all_rows()
            return
        drop_event_triggers()
        clear(operations, statements)
        redaction.create_event_triggers()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseDatabaseOperations, "execute_sql_flush", lifted)
        yield


def delete_all_rows() -> None:
    """Delete all rows without running triggers. This is faster than TRUNCATE, which takes a second for all tables."""
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(" UNION ALL ".join(f"(SELECT '{table}' FROM \"{table}\" LIMIT 1)" for table in tables))
        for (table,) in cursor.fetchall():
            cursor.execute(f'DELETE FROM "{table}"')


@pytest.fixture
def bucket(_open_shared_shop: None) -> Iterator[None]:
    """Store files in an empty bucket of an S3-compatible service, as with ``STORAGE_URL``."""
    # Imported here because importing boto3 and moto takes longer than most tests.
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    s3 = boto3.client(
        "s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="key", aws_secret_access_key="secret"
    )
    s3.create_bucket(Bucket="backoffice-files")
    url = f"s3://key:secret@backoffice-files/shop-files?endpoint_url={endpoint}&region=us-east-1&addressing_style=path"
    with override_settings(STORAGES={**settings.STORAGES, **get_storage_settings(url, Path("/nowhere"))}):
        yield
    s3.close()
    server.stop()


@pytest.fixture
def media_root(_open_shared_shop: None, settings: Settings, tmp_path: Path) -> Path:
    """Store the test's files in a separate folder. The shared shop's files remain in the common folder."""
    settings.STORAGES = {**settings.STORAGES, **get_storage_settings("", tmp_path / "m")}
    return tmp_path / "m"


@pytest.fixture(autouse=True)
def _reset_state(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Turn off rate limits and job notifications, and clear all caches of the process."""
    monkeypatch.setattr(jobs, "notifiers", {})
    settings.RATE_LIMIT = False
    use_empty_caches(settings)


def use_empty_caches(settings: Settings) -> None:
    """Replace the process's cache by an empty one. Other processes may use the same server, so nothing is deleted."""
    settings.CACHES = {"default": {**settings.CACHES["default"], "KEY_PREFIX": uuid.uuid4().hex}}
    render_cache.cache.clear()


@pytest.fixture(scope="session")
def django_db_setup(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, pytestconfig: pytest.Config
) -> Iterator[None]:
    """Create the test database, behind PgBouncer if ``TEST_POOLER`` is on.

    On PostgreSQL, check at the end of the run that only the announced deadlocks occurred.
    """
    if not services.is_postgres():
        yield
        return
    with django_db_blocker.unblock():
        deadlocks = pytestconfig.stash[DEADLOCKS] = Deadlocks()
    if os.environ.get("TEST_POOLER") == "on":
        # Imported here because only runs with PgBouncer need this module.
        from tests.support.databases.pooler import SESSIONS, set_database_timeouts, use_pooler

        with django_db_blocker.unblock():
            set_database_timeouts()
        with use_pooler(SESSIONS):
            yield
    else:
        yield
    with django_db_blocker.unblock():
        deadlocks.check()


def pytest_runtest_call(item: pytest.Item) -> None:
    """Add the deadlocks that the test announces to the expected number."""
    if deadlocks := item.config.stash.get(DEADLOCKS, None):
        deadlocks.announce(item)


@pytest.fixture(scope="session")
def _shared_shop(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[SharedShop]:
    """Yield the shared shop and roll it back after the last test."""
    SHARED.blocker = django_db_blocker
    yield SHARED
    SHARED.close()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Close the shared shop before a test that must run without it or needs other rows in it.

    A fixture could run too late, when another fixture has already opened the test's own transaction.
    """
    if not SHARED.suits(item):
        SHARED.close()


@pytest.fixture
def _open_shared_shop(request: pytest.FixtureRequest, _shared_shop: SharedShop) -> None:
    """Open the shared shop before the test's transaction begins, so that the test runs in a savepoint."""
    if uses_shop(request.node):
        _shared_shop.open(get_fill(request.node))


@pytest.fixture
def db(_open_shared_shop: None, db: None) -> None:
    """Run pytest-django's ``db`` inside the shared shop's transaction if the test uses a shop."""


@pytest.fixture
def shop(db: None) -> Shop:
    """Return the shared shop in its initial state, or a new shop."""
    return SHARED.fetch() if SHARED.is_open else make_acme()


@pytest.fixture
def shared_rows(shop: Shop) -> object:
    """Return the result of the ``fill`` function in the test's ``shop_with`` mark."""
    return SHARED.filled


@pytest.fixture
def other_shop(db: None) -> Shop:
    """Return a second shop for tenancy tests."""
    return factories.make_shop(domain="stranger.example", name="Stranger")


@pytest.fixture
def in_shop(shop: Shop) -> Iterator[Shop]:
    """Run the test inside the shop's scope."""
    with shop_scope(shop):
        yield shop


@pytest.fixture
def client_with(shop: Shop) -> ClientWith:
    """Return a factory for clients: ``client_with("write_products", …)`` has exactly these scopes."""

    def make(*scopes: str, shop: Shop = shop, **app: Any) -> ApiClient:
        installation = factories.make_installation(shop, scopes, **app)
        return ApiClient(factories.make_token(installation), installation)

    return make


@pytest.fixture
def api(client_with: ClientWith) -> ApiClient:
    """Return a client with all scopes."""
    return client_with(*factories.ALL_SCOPES)


@pytest.fixture
def other_shop_api(client_with: ClientWith, other_shop: Shop) -> ApiClient:
    """Return a client for the other shop, with all scopes."""
    return client_with(*factories.ALL_SCOPES, shop=other_shop)


@pytest.fixture(scope="session")
def redis_url() -> str:
    """Return the URL of a local Redis server; skip the test if none is running."""
    return services.require_service("Redis", services.get_redis_url())


@pytest.fixture(scope="session")
def node_packages() -> Path:
    """Return the ``node_modules`` folder; skip the test if Node or a package is missing."""
    return Path(
        services.require_service(
            "the packages of package.json: install npm and run npm ci", services.find_node_packages()
        )
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that CI uses for its run on the second database."""
    parser.addoption(
        "--second-database",
        action="store_true",
        help="only what can differ by database (tests/support/second_database.py)",
    )


def is_excluded_behind_pooler(item: pytest.Item) -> bool:
    """Return True if the test is excluded from the run behind a pooler."""
    return any(item.get_closest_marker(name) for name in ("browser", "own_sessions"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests that this run excludes, and skip tests with a missing service."""
    if config.getoption("second_database"):
        selected = [item for item in items if is_in_second_run(item)]
        config.hook.pytest_deselected(items=list({*items} - {*selected}))
        items[:] = selected
    if os.environ.get("TEST_POOLER") == "on":
        pooled = [item for item in items if uses_database(item) and not is_excluded_behind_pooler(item)]
        config.hook.pytest_deselected(items=list({*items} - {*pooled}))
        items[:] = pooled
    for item in items:
        if item.get_closest_marker("postgres") and not services.is_postgres():
            # Skip these tests and never fail them: each run has one database, and CI runs the suite on both SQLite and
            # PostgreSQL.
            item.add_marker(pytest.mark.skip(reason="needs PostgreSQL: set DATABASE_URL"))
        if item.get_closest_marker("browser") and not services.find_chromium():
            services.skip_or_fail(item, "Chromium")


@pytest.fixture
def allow_loopback(settings: Settings) -> None:
    """Allow outgoing requests to 127.0.0.1, but to no other private address."""
    settings.OUTGOING_ALLOW = ["127.0.0.1"]


@pytest.fixture
def rate_limited(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, time_machine: TimeMachineFixture
) -> TimeMachineFixture:
    """Turn on the rate limit with empty buckets and freeze the clock."""
    settings.RATE_LIMIT = True
    buckets = FileBucketStore(tmp_path / "buckets")
    monkeypatch.setattr(throttling, "_buckets", lambda: buckets)
    time_machine.move_to("2026-03-02T12:00:00Z", tick=False)
    return time_machine
