import pytest
from playwright.sync_api import expect

from apps.content.models import ScriptTag
from apps.core.rest.versions import get_latest_version
from apps.core.tenancy.models import Shop
from tests.support import factories
from tests.support.browser.pages import Open

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_search_is_used_by_keyboard(logged_in_page: Open, committed_shop: Shop) -> None:
    window = logged_in_page(None, committed_shop)
    page = window.open(f"/docs/api/{get_latest_version()}/")
    search = page.get_by_role("combobox", name="Search resources, routes and fields")

    page.keyboard.press("/")
    page.keyboard.type("compare at price")
    expect(page.get_by_role("option").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("option").first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    expect(search).to_have_attribute("aria-expanded", "false")
    search.fill("create a script tag")
    expect(page.get_by_role("option", selected=True)).to_contain_text("Create a script tag")
    page.keyboard.press("Enter")

    page.wait_for_url("**/script_tags/#post_script_tags")
    expect(page.get_by_role("heading", name="Create a script tag")).to_be_in_viewport()
    assert window.problems == []


def test_a_route_is_tried_with_a_token_that_stays_in_the_page(logged_in_page: Open, committed_shop: Shop) -> None:
    token = factories.make_token(factories.make_installation(committed_shop))
    window = logged_in_page(None, committed_shop)
    page = window.open(f"/docs/api/{get_latest_version()}/script_tags/")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url) if token in str(request.headers) else None)
    form = page.locator("form[data-method=POST]")
    form.get_by_text("Try it").click()

    form.get_by_role("button", name="Send").click()
    expect(form.get_by_text("Enter an access token first.")).to_be_visible()
    expect(page.get_by_label("Access token")).to_be_focused()
    page.get_by_label("Access token").fill(token)
    form.get_by_label("Body").fill("{")
    form.get_by_role("button", name="Send").click()
    expect(form.get_by_text("The body is not valid JSON")).to_be_visible()
    form.get_by_label("Body").fill('{"script_tag": {"src": "https://a.example/a.js", "event": "onload"}}')
    form.get_by_role("button", name="Send").click()
    assert not ScriptTag.objects.exists()
    form.get_by_role("button", name="Send and change the shop").click()
    expect(form.get_by_text("201 Created")).to_be_visible()

    assert ScriptTag.objects.get().src == "https://a.example/a.js"
    assert requests == [f"{window.server}/admin/api/{get_latest_version()}/script_tags.json"]
    stored_data = page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie, location.href])")
    assert token not in stored_data
    page.goto(f"{window.server}/docs/api/errors/")
    page.go_back()
    expect(page.get_by_label("Access token")).to_have_value("")
    assert window.problems == []


@pytest.mark.usefixtures("axe")
def test_the_pages_are_accessible(logged_in_page: Open, committed_shop: Shop) -> None:
    for width in (1400, 390):
        window = logged_in_page(None, committed_shop, viewport={"width": width, "height": 900})
        for path in (f"{get_latest_version()}/", f"{get_latest_version()}/products/", "errors/", "deprecations/"):
            window.open(f"/docs/api/{path}")
            assert window.barriers() == [], (width, path)
        assert window.problems == []
