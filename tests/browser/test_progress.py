import time
from collections.abc import Callable
from contextlib import suppress

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from playwright.sync_api import Error, Page, expect

from apps.core.jobs.worker_processes import remove_process, report_process
from apps.core.tenancy.models import Shop, User
from apps.imports_exports.models import Import
from tests.support.browser.pages import BrowserPage, Open
from tests.support.timing import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LOOKS_EACH, WORKER_LOOKS_EACH = 2000, 5000


@pytest.fixture
def running_import(committed_shop: Shop) -> Import:
    values = {"name": "in.csv", "format": "csv", "digest": "0" * 64, "actor": "system", "state": "importing"}
    return Import.objects.create(shop=committed_shop, total=9, **values)


@pytest.fixture
def window(logged_in_page: Open, owner: User, committed_shop: Shop) -> BrowserPage:
    window = logged_in_page(owner, committed_shop)
    now = time.time()
    window.page.clock.install(time=now)
    window.page.clock.pause_at(now + 1)
    return window


def pass_time(page: Page, step: int, is_over: Callable[[], bool]) -> None:
    """Move the page's clock on. The page waits for a response before it sets its next timer."""

    def is_over_now() -> bool:
        # The page may just be loading again.
        with suppress(Error):
            page.clock.run_for(step)
        return is_over()

    wait_until(is_over_now, bool)


def _update_import(kept: Import, **values: object) -> None:
    Import.objects.filter(pk=kept.pk).update(**values)


def test_the_page_moves_and_ends(window: BrowserPage, running_import: Import) -> None:
    page = window.go("imports_exports_import_change", running_import.pk)
    expect(page.get_by_text("Rows processed so far: 0")).to_be_visible()

    _update_import(running_import, done=4)
    pass_time(page, LOOKS_EACH, page.get_by_text("Rows processed so far: 4").is_visible)

    _update_import(running_import, state="done")
    pass_time(page, LOOKS_EACH, lambda: page.locator("[data-progress]").count() == 0)
    expect(page.get_by_role("heading", name="Status")).to_be_visible()
    expect(page.locator("[data-progress]")).to_have_count(0)
    assert window.problems == []


def test_the_page_reports_an_expired_session(window: BrowserPage, running_import: Import) -> None:
    page = window.go("imports_exports_import_change", running_import.pk)
    Session.objects.all().delete()

    alert = page.get_by_role("alert")
    pass_time(page, LOOKS_EACH, alert.is_visible)
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
    alert = page.get_by_role("alert")
    pass_time(page, LOOKS_EACH, alert.is_visible)
    assert len(requests) == 5
    expect(alert).to_contain_text("The server is not responding.")
    page.clock.run_for(10 * LOOKS_EACH)
    assert len(requests) == 5


def test_the_open_home_page_shows_and_hides_the_warning_about_workers(window: BrowserPage) -> None:
    page = window.go("index")
    warning = page.get_by_text("No worker is running")
    expect(warning).to_be_visible()

    report_process("worker", "celery@host", settings.TASK_QUEUES)
    pass_time(page, WORKER_LOOKS_EACH, warning.is_hidden)
    remove_process("celery@host")
    pass_time(page, WORKER_LOOKS_EACH, warning.is_visible)
    assert window.problems == []
