import os
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

# Playwright's synchronous API keeps an event loop running in the test's thread, which Django mistakes for async code.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")


from django.test import Client
from playwright.sync_api import Browser, expect, sync_playwright
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from apps.core.tenancy.models import Shop, User
from apps.core.tenancy.scope import shop_scope
from tests.support import factories, services
from tests.support.browser.pages import BrowserPage, Open

CHROMIUM = services.find_chromium() or ""
# Actions wait as long.
expect.set_options(timeout=30_000)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not pathlib.Path(CHROMIUM).exists():
        pytest.skip("no Chromium; set CHROMIUM to its path")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=CHROMIUM, headless=True, args=list(services.CHROMIUM_ARGUMENTS)
        )
        yield launched
        launched.close()


@pytest.fixture
def axe(node_packages: pathlib.Path) -> None:
    """Skip tests that need axe if axe is not installed."""


@pytest.fixture
def logged_in_page(browser: Browser, live_server: LiveServer, client: Client, settings: Settings) -> Iterator[Open]:
    """Return a function that opens a page for a user: ``logged_in_page(user, shop, color_scheme="dark")``."""
    contexts = []

    def make(user: User | None, shop: Shop, **options: Any) -> BrowserPage:
        values = {"viewport": {"width": 1400, "height": 900}, "reduced_motion": "reduce", **options}
        context = browser.new_context(**values)
        contexts.append(context)
        if user is not None:
            client.force_login(user)
            value = client.cookies[settings.SESSION_COOKIE_NAME].value
            context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": value, "url": live_server.url}])
        return BrowserPage(context.new_page(), live_server.url, shop)

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def committed_shop(transactional_db: None) -> Iterator[Shop]:
    """Yield a shop that the live server can read, in its scope."""
    shop = factories.make_shop(domain="acme.example", name="Acme", timezone="America/New_York")
    with shop_scope(shop):
        yield shop


@pytest.fixture
def owner(committed_shop: Shop) -> User:
    return factories.make_member(committed_shop, owner=True, email="kim@example.com", first_name="Kim", last_name="Lee")


@pytest.fixture
def window(logged_in_page: Open, committed_shop: Shop, owner: User) -> Iterator[BrowserPage]:
    """Yield the owner's page. The test fails if the page has problems."""
    window = logged_in_page(owner, committed_shop)
    yield window
    assert window.problems == []
