"""Two shops: a store that a separate web process serves with another brand, and the shop that imports it."""

from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import override_settings
from pytest_django import DjangoDbBlocker

from apps.core.tenancy.models import Shop
from apps.store_imports.domain import source_client
from apps.store_imports.resources import app_data, collections, customers, metafields, online_store, products
from apps.store_imports.resources.content import articles, blogs, comments
from apps.store_imports.resources.sales import draft_orders, gift_cards, price_rules
from backoffice.configuration.storages import get_storage_settings
from tests.store_imports.faulty_proxy import FaultyProxy
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.databases.emptying import empty_database
from tests.support.servers.live import LiveServer, get_database_url


@pytest.fixture(scope="module")
def server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    running = LiveServer(get_database_url(), tmp_path_factory.mktemp("server"))
    running.wait()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def db(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Use the test database with real commits, which the web process sees. Empty it once per module."""
    with django_db_blocker.unblock():
        yield
        empty_database()


@pytest.fixture(autouse=True)
def _files(server: LiveServer, settings: Any) -> Iterator[None]:
    """Store files in the folder of the web process, and allow requests to it."""
    settings.OUTGOING_ALLOW = ["127.0.0.1"]
    with override_settings(STORAGES={**settings.STORAGES, **get_storage_settings("", server.data_dir / "media")}):
        yield


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (
        *(products, collections, customers, metafields, online_store, app_data),
        *(blogs, articles, comments, price_rules, gift_cards, draft_orders),
    ):
        monkeypatch.setattr(module, "PAGE_SIZE", 2)
    monkeypatch.setattr(price_rules, "CODES_PAGE_SIZE", 2)
    monkeypatch.setattr(source_client, "PAGE_SIZE", 2)
    monkeypatch.setattr(source_client, "FIRST_PAUSE_SECONDS", 0.01)


@pytest.fixture
def proxy(server: LiveServer) -> Iterator[FaultyProxy]:
    with FaultyProxy(server.port) as running:
        yield running


@pytest.fixture
def source(db: None) -> ApiClient:
    """Return a client of the store to import."""
    return _make_client("Old store")


@pytest.fixture
def target(db: None) -> ApiClient:
    """Return a client of the shop that imports the store."""
    return _make_client("New shop")


def _make_client(name: str) -> ApiClient:
    installation = factories.make_installation(factories.make_shop(name=name))
    return ApiClient(factories.make_token(installation), installation)


class StoreImporter:
    """Runs the command that imports the store of ``source`` into the shop of ``target`` through a proxy."""

    def __init__(self, source: ApiClient, target: ApiClient, url: str) -> None:
        self.source, self.target, self.url = source, target, url
        self.output = StringIO()

    @property
    def shop(self) -> Shop:
        return self.target.installation.shop

    def get_arguments(self) -> list[str]:
        return [self.url, "--token", self.source.token, "--shop", self.shop.domain, "--brand", "shopify"]

    def run(self, *options: str) -> str:
        self.output = StringIO()
        call_command("import_store", *self.get_arguments(), *options, stdout=self.output)
        return self.output.getvalue()


@pytest.fixture
def importer(source: ApiClient, target: ApiClient, proxy: FaultyProxy) -> StoreImporter:
    return StoreImporter(source, target, proxy.url)
