"""A new user moves a store through the panel. The store is another shop of the same web server."""

import pytest
from playwright.sync_api import expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from apps.core.jobs.models import Job
from apps.core.jobs.queue import run_job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.store_imports.domain.background_runs import RUN_TASK
from tests.support import factories
from tests.support.browser.pages import BrowserPage
from tests.support.factories.catalog import make_product

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def token(committed_shop: Shop, settings: Settings) -> str:
    """Return a token of a store with two products."""
    settings.OUTGOING_ALLOW = ["127.0.0.1", "localhost"]
    store = factories.make_shop(domain="old.example", name="Old store")
    with shop_scope(store):
        for title in ("Chair", "Table"):
            make_product(title=title)
    return factories.make_token(factories.make_installation(store))


@pytest.mark.usefixtures("axe")
def test_a_new_user_moves_a_store(
    window: BrowserPage, token: str, live_server: LiveServer, committed_shop: Shop
) -> None:
    page = window.go()
    page.get_by_role("main").get_by_role("link", name="Move a store here").click()
    page.get_by_role("radio", name="Backoffice").check()
    expect(page.get_by_text("Apps → In-house apps")).to_be_visible()
    expect(page.get_by_text("Settings → Apps → Develop apps")).to_be_hidden()
    page.get_by_label("Address of the store").fill(live_server.url)
    page.get_by_label("Access token", exact=True).fill(token)
    page.get_by_role("button", name="Check connection").click()
    expect(page.get_by_text("Products: 2")).to_be_visible()
    assert (window.barriers(), window.unreachable()) == ([], [])
    for group in page.get_by_role("checkbox").all()[1:]:
        group.uncheck()
    page.get_by_role("button", name="Start import").click()
    expect(page.get_by_text("This page updates automatically.")).to_be_visible()
    with shop_scope(committed_shop):
        run_job(Job.objects.get(task=RUN_TASK).key)

    expect(page.get_by_role("heading", name="Result")).to_be_visible()
    expect(page.get_by_text("All objects were imported.")).to_be_visible()
    expect(page.get_by_role("link", name="Bring over changes…")).to_be_visible()
    expect(page.get_by_role("rowheader", name="Metafields of variants")).to_have_count(0)
    # The menu has scrolled to the current page.
    expect(page.locator(".bo-menu").get_by_role("link", name="Move a store here")).to_be_in_viewport()
    assert window.barriers() == []
    page.get_by_role("rowheader", name="Products", exact=True).get_by_role("link").click()
    expect(page.get_by_text("Chair", exact=True)).to_be_visible()
