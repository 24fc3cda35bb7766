import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db.backends.base.operations import BaseDatabaseOperations
from django.test import TransactionTestCase, override_settings
from hypothesis import settings as hypothesis_settings
from hypothesis.internal.conjecture import providers
from pytest_django import DjangoDbBlocker, Settings
from time_machine import TimeMachineFixture

from apps.core.events import redaction
from apps.core.jobs import publishing
from apps.core.rest.reading import render_cache
from apps.core.rest.requests import throttling
from apps.core.rest.requests.authentication import access_cache
from apps.core.rest.requests.file_buckets import FileBucketStore
from apps.core.tenancy import subscriber_version
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.webhooks.domain.engine import fan_out
from backoffice.configuration.storages import get_storage_settings
from tests.support import factories, services
from tests.support.api_client import ApiClient, ClientWith
from tests.support.databases.deadlocks import Deadlocks
from tests.support.databases.emptying import empty_database, get_initial_triggers
from tests.support.databases.event_triggers import drop_event_triggers
from tests.support.databases.templates import use_template
from tests.support.quick import is_in_quick_run
from tests.support.second_database import is_in_second_run, may_hold_tests, uses_database
from tests.support.shared_shop import SHARED, SharedShop, get_fill, make_acme, uses_shop

# Failed assertions in these modules show their values, as in the modules of tests.
pytest.register_assert_rewrite("tests.api.route_checks", "tests.support.databases.snapshots")
# Hypothesis's time limit per example would fail on a slow machine.
# The suite always tries the same inputs; soak tests try new ones each time.
hypothesis_settings.register_profile("untimed", deadline=None, derandomize=True)
hypothesis_settings.load_profile("untimed")
# Hypothesis also draws constants from all imported modules, which depend on the tests that ran before.
providers._get_local_constants = lambda: providers._local_constants

DEADLOCKS = pytest.StashKey[Deadlocks]()


@pytest.fixture(scope="session", autouse=True)
def _test_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Store the tests' files in a temporary folder, hash cheaply, and do not scan the panel's static files."""
    folder = tmp_path_factory.mktemp("files")
    # Reading the subscribers again after a second would add a query to tests on a slow machine.
    with (
        pytest.MonkeyPatch.context() as patch,
        override_settings(
            STORAGES={**settings.STORAGES, **get_storage_settings("", folder)},
            PASSWORD_HASHERS=["tests.support.password_hasher.CheapArgon2PasswordHasher"],
            # With finders, WhiteNoise would scan all static files for each client that a test creates.
            WHITENOISE_USE_FINDERS=False,
        ),
    ):
        patch.setattr(subscriber_version, "FRESH_SECONDS", 3600.0)
        yield


@pytest.fixture(scope="session", autouse=True)
def _flush_without_event_triggers() -> Iterator[None]:
    """Empty the database after tests with real commits, and run ``flush`` without the triggers that protect events."""
    clear = BaseDatabaseOperations.execute_sql_flush

    def lifted(operations: BaseDatabaseOperations, statements: list[str]) -> None:
        drop_event_triggers()
        clear(operations, statements)
        redaction.create_event_triggers()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseDatabaseOperations, "execute_sql_flush", lifted)
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda test: empty_database())
        yield


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
    monkeypatch.setattr(publishing, "send_task", lambda name, **options: None)
    settings.RATE_LIMIT = False
    use_empty_caches(settings)


def use_empty_caches(settings: Settings) -> None:
    """Replace the process's cache by an empty one. Other processes may use the same server, so nothing is deleted."""
    settings.CACHES = {"default": {**settings.CACHES["default"], "KEY_PREFIX": uuid.uuid4().hex}}
    render_cache.cache.clear()
    # The next test's token may have the same id and, if the time does not move, the same versions.
    access_cache.clear()
    fan_out._recent_digests.clear()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None, pytestconfig: pytest.Config) -> Iterator[None]:
    """Create the test database from a template."""
    with use_template(pytestconfig.cache.mkdir("databases")):
        yield


@pytest.fixture(scope="session")
def django_db_setup(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, pytestconfig: pytest.Config
) -> Iterator[None]:
    """Create the test database, behind PgBouncer if ``TEST_POOLER`` is on.

    On PostgreSQL, check at the end of the run that only the announced deadlocks occurred.
    """
    with django_db_blocker.unblock():
        get_initial_triggers()
    if not services.is_postgres():
        yield
        return
    with django_db_blocker.unblock():
        deadlocks = pytestconfig.stash[DEADLOCKS] = Deadlocks()
    pooler: AbstractContextManager[None] = nullcontext()
    if os.environ.get("TEST_POOLER") == "on":
        # Imported here because only runs with PgBouncer need this module.
        from tests.support.databases.pooler import SESSIONS, set_database_timeouts, use_pooler

        with django_db_blocker.unblock():
            set_database_timeouts()
        pooler = use_pooler(SESSIONS)
    with pooler:
        yield
    with django_db_blocker.unblock():
        deadlocks.check()


def pytest_runtest_call(item: pytest.Item) -> None:
    if deadlocks := item.config.stash.get(DEADLOCKS, None):
        deadlocks.announce(item)


@pytest.fixture(scope="session")
def _shared_shop(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[SharedShop]:
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
def time_machine(_open_shared_shop: None, time_machine: TimeMachineFixture) -> TimeMachineFixture:
    """Open the shared shop before the time moves, because later tests use the shop as well."""
    return time_machine


@pytest.fixture
def db(_open_shared_shop: None, db: None) -> None:
    """Run pytest-django's ``db`` inside the shared shop's transaction if the test uses a shop."""


@pytest.fixture
def shop(db: None) -> Shop:
    return SHARED.fetch() if SHARED.is_open else make_acme()


@pytest.fixture
def shared_rows(shop: Shop) -> object:
    """Return the result of the ``fill`` function in the test's ``shop_with`` mark."""
    return SHARED.filled


@pytest.fixture
def other_shop(db: None) -> Shop:
    return factories.make_shop(domain="stranger.example", name="Stranger")


@pytest.fixture
def in_shop(shop: Shop) -> Iterator[Shop]:
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
    return client_with(*factories.ALL_SCOPES)


@pytest.fixture
def other_shop_api(client_with: ClientWith, other_shop: Shop) -> ApiClient:
    return client_with(*factories.ALL_SCOPES, shop=other_shop)


@pytest.fixture(scope="session")
def redis_url() -> str:
    return services.require_service("Redis", services.get_redis_url())


@pytest.fixture(scope="session")
def node_packages() -> Path:
    what = "the packages of package.json: install npm and run npm ci"
    return Path(services.require_service(what, services.find_node_packages()))


def pytest_addoption(parser: pytest.Parser) -> None:
    help_text = "only what can differ by database (tests/support/second_database.py)"
    parser.addoption("--second-database", action="store_true", help=help_text)
    parser.addoption("--quick", action="store_true", help="only the main flows of each app (tests/support/quick.py)")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("second_database") and services.is_postgres():
        # Imported here because the module reads the product's whole code.
        from tests.support.databases.database_code import DatabaseCodeCheck

        config.pluginmanager.register(DatabaseCodeCheck(config))


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say how long a long run takes, unless files or tests are named."""
    if config.args_source is not pytest.Config.ArgsSource.TESTPATHS or config.option.markexpr == "soak":
        return None
    minutes = 3 if config.getoption("quick") else 14 if config.getoption("second_database") else 20
    return f"These tests take about {minutes} minutes on two idle cores."


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    is_left_out = (config.getoption("quick") and not is_in_quick_run(collection_path)) or (
        config.getoption("second_database") and not may_hold_tests(collection_path)
    )
    return True if is_left_out else None


def is_in_pooled_run(item: pytest.Item) -> bool:
    return uses_database(item) and not any(item.get_closest_marker(name) for name in ("browser", "own_sessions"))


def select_tests(config: pytest.Config, items: list[pytest.Item], is_selected: Callable[[pytest.Item], bool]) -> None:
    config.hook.pytest_deselected(items=[item for item in items if not is_selected(item)])
    items[:] = filter(is_selected, items)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("second_database"):
        select_tests(config, items, is_in_second_run)
    if os.environ.get("TEST_POOLER") == "on":
        select_tests(config, items, is_in_pooled_run)
    for item in items:
        if item.get_closest_marker("postgres") and not services.is_postgres():
            # Never fail these tests: each run has one database, and CI runs the suite on both databases.
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
    settings.RATE_LIMIT = True
    buckets = FileBucketStore(tmp_path / "buckets")
    monkeypatch.setattr(throttling, "_buckets", lambda: buckets)
    time_machine.move_to("2026-03-02T12:00:00Z", tick=False)
    return time_machine
