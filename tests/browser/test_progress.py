import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import expect

from apps.core.tenancy.models import Shop, User
from apps.imports_exports.models import Import
from tests.support.browser.pages import BrowserPage, Open

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LOOKS_EACH = 2000


@pytest.fixture
def running_import(committed_shop: Shop) -> Import:
    values = {"name": "in.csv", "format": "csv", "digest": "0" * 64, "actor": "system", "state": "importing"}
    return Import.objects.create(shop=committed_shop, total=9, **values)


@pytest.fixture
def window(logged_in_page: Open, owner: User, committed_shop: Shop) -> BrowserPage:
    window = logged_in_page(owner, committed_shop)
    window.page.clock.install()
    return window


def _update_import(kept: Import, **values: object) -> None:
    Import.objects.filter(pk=kept.pk).update(**values)


def test_the_page_moves_and_ends(window: BrowserPage, running_import: Import) -> None:
    page = window.go("imports_exports_import_change", running_import.pk)
    expect(page.get_by_text("Rows processed so far: 0")).to_be_visible()

    _update_import(running_import, done=4)
    page.clock.run_for(LOOKS_EACH)
    expect(page.get_by_text("Rows processed so far: 4")).to_be_visible()

    _update_import(running_import, state="done")
    page.clock.run_for(LOOKS_EACH)
    expect(page.get_by_role("heading", name="Status")).to_be_visible()
    expect(page.locator("[data-progress]")).to_have_count(0)
    assert window.problems == []


def test_the_page_reports_an_expired_session(window: BrowserPage, running_import: Import) -> None:
    page = window.go("imports_exports_import_change", running_import.pk)
    Session.objects.all().delete()

    page.clock.run_for(LOOKS_EACH)

    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("You are no longer logged in.")
    expect(page.get_by_role("progressbar")).to_have_count(0)
    alert.get_by_role("link", name="Log in again").click()
    expect(page.get_by_role("button", name="Log in", exact=True)).to_be_visible()


def test_the_page_says_that_the_server_is_silent_and_stops_polling(window: BrowserPage, running_import: Import) -> None:
    page = window.go("imports_exports_import_change", running_import.pk)
    requests = []

    def refuse(route: object) -> None:
        requests.append(route)
        route.fulfill(status=503, body="")  # type: ignore[attr-defined]

    page.route(page.url, refuse)
    for number in range(5):
        expect(page.get_by_role("alert")).to_have_count(0)
        with page.expect_response(page.url):
            page.clock.run_for(LOOKS_EACH)
        assert len(requests) == number + 1

    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("The server is not responding.")
    page.clock.run_for(10 * LOOKS_EACH)
    assert len(requests) == 5
