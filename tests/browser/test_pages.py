"""Every page in a real browser: no barrier, no error, nothing from elsewhere, nothing wider than a phone."""

from typing import Any

import pytest
from playwright.sync_api import expect

from apps.shops.models import Shop
from apps.staff.models import User
from tests import factories
from tests.browser.conftest import Open
from tests.browser.world import furnish, pages

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LOOKS = [
    pytest.param({}, id="light"),
    pytest.param({"color_scheme": "dark"}, id="dark"),
    pytest.param({"viewport": {"width": 390, "height": 844}}, id="phone"),
    pytest.param({"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}, id="dark phone"),
]
OUTSIDE = ("/admin/shops/", "/accounts/profile/", "/accounts/password/change/", "/accounts/2fa/")
ENTRANCE = ("/accounts/login/", "/accounts/password/reset/")


@pytest.mark.parametrize("look", LOOKS)
def test_pages_of_the_panel_are_open_to_everybody(
    open_window: Open, live_shop: Shop, owner: User, axe: None, look: dict[str, Any]
) -> None:
    installation = furnish(live_shop)
    window = open_window(owner, live_shop, **look)

    found = []
    for name, args in pages(live_shop, installation):
        page = window.go(name, *args)
        expect(page.get_by_role("main")).to_be_visible()
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        found += [(name, problem) for problem in [*window.violations(), *window.unreachable()]]
        found += [(name, f"{window.sideways()} pixels too wide")] if window.sideways() > 0 else []

    assert found == []
    assert window.problems == []


@pytest.mark.parametrize("look", LOOKS)
def test_pages_outside_of_the_panel_are_open_to_everybody(
    open_window: Open, live_shop: Shop, owner: User, axe: None, look: dict[str, Any]
) -> None:
    known, stranger = open_window(owner, live_shop, **look), open_window(None, live_shop, **look)

    found = []
    for window, paths in ((known, OUTSIDE), (stranger, ENTRANCE)):
        for path in paths:
            page = window.open(path)
            expect(page.get_by_role("main")).to_be_visible()
            found += [(path, problem) for problem in window.violations()]
            found += [(path, f"{window.sideways()} pixels too wide")] if window.sideways() > 0 else []

    assert found == []
    assert known.problems + stranger.problems == []


@pytest.mark.parametrize(
    ("path", "answer"),
    [("/s/acme/admin/nothing/", (404, "Page not found")), ("/s/acme/admin/jobs/job/", (403, "You may not do this"))],
)
def test_error_pages_are_open_to_everybody(
    open_window: Open, live_shop: Shop, axe: None, path: str, answer: tuple[int, str]
) -> None:
    window = open_window(factories.make_member(live_shop), live_shop)

    response = window.page.goto(window.server + path)

    assert response
    assert response.status == answer[0]
    expect(window.page.get_by_role("heading", level=1)).to_have_text(answer[1])
    assert window.violations() == []
