"""Fixtures for the public Python client of the reference platform, connected to a real server."""

import warnings
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.test import override_settings
from pytest_django import DjangoDbBlocker

from apps.core.tenancy.models import Installation, Shop
from backoffice.configuration.storages import get_storage_settings
from tests.support import factories
from tests.support.api_client import VERSION
from tests.support.databases.emptying import empty_database
from tests.support.servers.live import WORKER, Connect, LiveServer, get_database_url, stop_process

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import shopify


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
    """Use the test database with real commits. Empty the database once per module.

    The fixture is named ``db`` because pytest-django only creates the test database for tests that request ``db``.
    """
    with django_db_blocker.unblock():
        yield
        empty_database()


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


@pytest.fixture
def all_scopes(api_client_factory: Connect) -> None:
    """Activate a client session of an app with all scopes."""
    api_client_factory()
