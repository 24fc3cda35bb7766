"""Tests of notifications in the browser: the badge in the menu, the title, the consent and the sound."""

import pytest
from playwright.sync_api import Page, Response, expect

from apps.core.tenancy.models import Shop, User
from apps.notifications.domain.recording import NEW_ORDER
from apps.notifications.models import SeenMark
from tests.support.browser.pages import BrowserPage, Open
from tests.support.factories.orders import make_order
from tests.support.notifications import choose
from tests.support.timing import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("media_root")]

# Record browser notifications and tones instead of showing and playing them.
RECORDER = """
window.popped = [];
window.tones = 0;
window.Notification = class {
  static permission = "granted";
  constructor(title, options) { window.popped.push(`${title}: ${options.body}`); }
  addEventListener() {}
};
const start = OscillatorNode.prototype.start;
OscillatorNode.prototype.start = function (...values) { window.tones += 1; return start.apply(this, values); };
"""

# Make the pauses between polls a hundred times shorter.
HASTE = """
const wait = window.setTimeout;
window.setTimeout = (work, pause, ...values) => wait(work, pause >= 1000 ? pause / 100 : pause, ...values);
"""
COUNTS = "**/notifications/counts/"


def wait(page: Page) -> None:
    """Let half a minute pass in the browser until the page polls.

    The page sets its next timer only after it has read the last response, which may be after this call.
    """
    responses: list[Response] = []
    page.on(
        "response", lambda response: responses.append(response) if "/notifications/counts/" in response.url else None
    )

    def advance() -> list[Response]:
        page.clock.fast_forward(31_000)
        page.wait_for_timeout(50)
        return responses

    wait_until(advance, bool)


def test_a_badge_appears_without_a_reload(window: BrowserPage, committed_shop: Shop, axe: None) -> None:
    window.page.add_init_script(HASTE)
    with window.page.expect_response(COUNTS):
        page = window.go()
    badge = page.locator(".bo-menu .bo-count")
    title = page.title()
    assert badge.count() == 0

    make_order(committed_shop)
    expect(badge).to_have_text("1(1 new order)")
    expect(page.get_by_role("status").filter(has_text="1 new order")).to_have_count(1)
    assert page.title() == f"(1) {title.strip()}"
    make_order(committed_shop)
    expect(badge).to_have_text("2(2 new orders)")
    assert window.barriers() == []

    # Opening the list marks both as seen.
    with page.expect_response("**/notifications/seen/"):
        page.get_by_role("link", name="Orders (2 new orders)").click()
    expect(badge).to_have_count(0)
    assert page.title().strip().startswith("Orders")
    assert SeenMark.objects.filter(kind=NEW_ORDER).count() == 1
    make_order(committed_shop)
    expect(badge).to_have_text("1(1 new order)")


def test_sounds_and_browser_notifications_come_once(logged_in_page: Open, committed_shop: Shop, owner: User) -> None:
    choose(owner, committed_shop, new_order="sound browser")
    make_order(committed_shop)
    window = logged_in_page(owner, committed_shop)
    window.page.add_init_script(HASTE)
    window.page.add_init_script(RECORDER)
    with window.page.expect_response(COUNTS):
        page = window.go()
    page.get_by_role("heading", name="Home").click()
    # Orders from before the first poll of this browser only count.
    assert page.evaluate("[window.popped, window.tones]") == [[], 0]

    make_order(committed_shop)
    page.wait_for_function("window.popped.length === 1")
    for _ in range(2):
        with page.expect_response(COUNTS):
            pass

    assert page.evaluate("[window.popped, window.tones]") == [["Acme: 2 new orders"], 2]
    assert page.locator(".bo-menu .bo-count").count() == 0
    assert window.problems == []


def test_polls_end_with_the_session(window: BrowserPage, committed_shop: Shop) -> None:
    window.page.clock.install()
    make_order(committed_shop)
    page = window.go()
    expect(page.locator(".bo-menu .bo-count")).to_have_text("1(1 new order)")

    page.context.clear_cookies()
    wait(page)

    expect(page.locator(".bo-menu .bo-count")).to_have_count(0)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.clock.fast_forward(400_000)
    assert [url for url in requests if "counts" in url] == []


def test_a_failing_server_is_asked_less_often(window: BrowserPage, committed_shop: Shop) -> None:
    window.page.clock.install()
    with window.page.expect_response(COUNTS):
        page = window.go()
    # The page saves the counts before it sets the timer of the next poll.
    wait_until(lambda: page.evaluate("localStorage.length"), bool)
    page.route(COUNTS, lambda route: route.abort())
    with page.expect_event("requestfailed"):
        page.clock.fast_forward(31_000)
    page.wait_for_timeout(200)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.clock.fast_forward(31_000)
    assert [url for url in requests if "counts" in url] == []

    page.unroute(COUNTS)
    make_order(committed_shop)
    wait(page)

    expect(page.locator(".bo-menu .bo-count")).to_have_text("1(1 new order)")
    window.problems.clear()


@pytest.mark.parametrize(
    ("permission", "text"),
    [
        ("default", "Browser notifications only appear after you allow them."),
        ("granted", "This browser shows notifications."),
        ("denied", "This browser blocks notifications"),
    ],
)
def test_the_page_says_what_the_browser_allows(window: BrowserPage, permission: str, text: str, axe: None) -> None:
    window.page.add_init_script(
        f"window.Notification = class {{ static permission = '{permission}'; "
        "static async requestPermission() { this.permission = 'granted'; } }"
    )
    page = window.go("notifications")

    expect(page.locator("[data-consent] p:visible")).to_contain_text(text)
    button = page.get_by_role("button", name="Allow browser notifications")
    if permission == "default":
        button.click()
        expect(page.locator("[data-consent] p:visible")).to_have_text("This browser shows notifications.")
    expect(button).to_be_hidden()
    assert window.barriers() == []


def test_a_member_chooses_emails(window: BrowserPage) -> None:
    page = window.go("notifications")
    page.get_by_label("New orders: Email").check()
    page.get_by_role("button", name="Save", exact=True).click()

    expect(page.get_by_text("Your notifications were saved.")).to_be_visible()
    expect(page.get_by_label("New orders: Email")).to_be_checked()


def test_staff_try_the_sound_before_they_choose_it(window: BrowserPage, axe: None) -> None:
    window.page.add_init_script(RECORDER)
    page = window.go("notifications")
    hint = page.get_by_text("If you heard nothing")

    expect(hint).to_be_hidden()
    page.get_by_role("button", name="Try sound").press("Enter")

    expect(hint).to_be_visible()
    assert page.evaluate("window.tones") == 2
    assert window.barriers() == []
    assert window.problems == []
