"""Lists in the panel: the row of controls, rows that open on a click, and the bar with actions for selected rows."""

import re
from decimal import Decimal
from functools import partial

import pytest
from django.conf import settings
from playwright.sync_api import Request, ViewportSize, expect

from apps.bulk_edits.models import BulkEdit
from apps.core.tenancy.models import SavedView, Shop, User
from apps.orders.models import Order
from tests.support.browser.list_menu import open_list_menu
from tests.support.browser.pages import BrowserPage, Open
from tests.support.factories.catalog import make_image, make_product
from tests.support.factories.customers import make_customer
from tests.support.factories.orders import make_order

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ORDERS = "orders_order_changelist"
DESK: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
# Return the position of the first row and the number of rows that are completely visible above the page numbers.
PLACE = """() => {
    const rows = [...document.querySelectorAll('#result_list tbody tr')].map(row => row.getBoundingClientRect());
    const pages = document.querySelector('main > div:last-child');
    const end = getComputedStyle(pages).position === 'sticky' ? pages.getBoundingClientRect().top : innerHeight;
    return [rows[0].top, rows.filter(row => row.bottom <= end).length];
}"""
STATUS = "[data-selection-status]"


def create_orders(shop: Shop, count: int) -> list[Order]:
    lines = [{"title": "Lamp", "price": Decimal("10.00"), "quantity": 1}]
    return [make_order(shop, lines=lines, email=f"ada{number}@example.com") for number in range(count)]


@pytest.mark.usefixtures("media_root")
def test_images_are_loaded_when_their_rows_come_into_view(window: BrowserPage) -> None:
    for number in range(40):
        make_image(make_product(f"Mug {number}"))
    requested: list[str] = []
    window.page.on("request", lambda request: requested.extend([request.url] * (request.resource_type == "image")))

    page = window.go("catalog_product_changelist")
    images = page.locator("#result_list tbody img")
    expect(images.nth(9)).to_have_js_property("naturalWidth", 40)
    page.wait_for_load_state("networkidle")
    first = [url for url in requested if not url.startswith("data:")]
    images.last.scroll_into_view_if_needed()
    expect(images.last).to_have_js_property("naturalWidth", 40)

    assert 10 <= len(first) <= 20


@pytest.mark.parametrize("language", ["en-US", "de-DE"])
def test_thirteen_orders_are_visible_below_one_row_of_controls(
    logged_in_page: Open, committed_shop: Shop, owner: User, language: str
) -> None:
    create_orders(committed_shop, 26)
    window = logged_in_page(owner, committed_shop, viewport=DESK, locale=language)

    page = window.go(ORDERS)
    top, visible = page.evaluate(PLACE)
    page.set_viewport_size(PHONE)
    phone_top, _ = page.evaluate(PLACE)

    assert top <= 180
    assert visible >= 13
    assert phone_top <= 250
    assert window.sideways() <= 0
    assert window.problems == []


@pytest.mark.parametrize("name", ["catalog_product", "customers_customer"])
def test_other_lists_begin_as_high(logged_in_page: Open, committed_shop: Shop, owner: User, name: str) -> None:
    make_product("Lamp")
    make_customer(email="ada@example.com")
    window = logged_in_page(owner, committed_shop, viewport=DESK)

    page = window.go(f"{name}_changelist")
    top, _ = page.evaluate(PLACE)
    page.set_viewport_size(PHONE)
    phone_top, _ = page.evaluate(PLACE)

    assert top <= 180
    assert phone_top <= 210


def test_numbers_dates_and_email_addresses_are_on_one_line(
    logged_in_page: Open, committed_shop: Shop, owner: User
) -> None:
    make_order(
        committed_shop,
        email="bogdan.bondarenko199@example.com",
        lines=[{"title": "Lamp", "price": Decimal("1234.50"), "quantity": 1}],
    )
    make_customer(first_name="Friederike", last_name="von der Heide", email="friederike.heide@example.com")
    window = logged_in_page(owner, committed_shop, viewport=DESK)

    heights = []
    for name in (ORDERS, "customers_customer_changelist"):
        page = window.go(name)
        heights += page.evaluate("""() => [...document.querySelectorAll('#result_list tbody td')].map(cell => {
            const text = document.createRange();
            text.selectNodeContents(cell);
            return [cell.textContent.trim(), text.getClientRects().length];
        }).filter(([text]) => /@|\\d{4}$/.test(text))""")
    spent = page.locator("#result_list :is(th, td):is(.column-spent, .field-spent)")

    assert sum("@" in text for text, _lines in heights) >= 2
    assert any("@" not in text for text, _lines in heights)
    assert {lines for _text, lines in heights} == {1}
    assert {cell.evaluate("cell => getComputedStyle(cell).textAlign") for cell in spent.all()} == {"right"}
    assert "tabular-nums" in spent.last.evaluate("cell => getComputedStyle(cell).fontVariantNumeric")


def test_a_click_anywhere_in_a_row_opens_the_row(window: BrowserPage, committed_shop: Shop) -> None:
    order = create_orders(committed_shop, 1)[0]
    page = window.go(ORDERS)
    total, address = page.locator("td.field-total"), re.compile(rf"/orders/order/{order.pk}/change/")

    with page.context.expect_page() as opened:
        total.click(modifiers=["ControlOrMeta"])
    expect(opened.value).to_have_url(address)
    with page.context.expect_page() as opened:
        total.click(button="middle")
    expect(opened.value).to_have_url(address)
    expect(page).to_have_url(re.compile(r"/orders/order/$"))
    total.click()

    expect(page).to_have_url(address)


def test_selecting_text_or_a_checkbox_does_not_open_the_row(window: BrowserPage, committed_shop: Shop) -> None:
    create_orders(committed_shop, 1)
    page = window.go(ORDERS)
    place = page.locator("td.field-processed_at").bounding_box()
    assert place

    page.mouse.move(place["x"] + 14, place["y"] + place["height"] / 2)
    page.mouse.down()
    page.mouse.move(place["x"] + place["width"] - 14, place["y"] + place["height"] / 2, steps=5)
    page.mouse.up()
    selected = page.evaluate("() => getSelection().toString()")
    # Next to the checkbox, a click also selects the row.
    page.locator("td.action-checkbox").click(position={"x": 3, "y": 3})

    assert selected.strip()
    expect(page.get_by_label("Select record")).to_be_checked()
    expect(page).to_have_url(re.compile(r"/orders/order/$"))


def test_selected_orders_are_closed_by_keyboard(window: BrowserPage, committed_shop: Shop, axe: None) -> None:
    orders = create_orders(committed_shop, 3)
    page = window.go(ORDERS)
    bar = page.get_by_role("group", name="Actions for the selected rows")
    expect(bar).to_be_hidden()

    page.get_by_label("Select record").first.press("Enter")
    expect(bar).to_be_hidden()
    page.get_by_label("Select record").first.press("Space")
    page.get_by_label("Select record").nth(1).press("Space")
    expect(bar).to_contain_text("Selected: 2")
    expect(page.locator(STATUS)).to_have_text("Selected: 2. Press Enter in a checkbox to go to the actions.")
    barriers = window.barriers()
    bar.locator("summary").press("Enter")
    expect(bar.get_by_role("button", name="Delete")).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(bar.get_by_role("button", name="Delete")).to_be_hidden()
    page.keyboard.press("Enter")
    expect(bar.get_by_role("button").nth(1)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_label("Select record").nth(1)).to_be_focused()
    bar.get_by_role("button", name="Close orders").press("Enter")
    expect(page.get_by_text("2 orders closed.")).to_be_visible()

    assert set(Order.objects.exclude(closed_at=None)) == set(orders[1:])
    assert barriers == []


def test_the_bar_stays_in_view_and_selects_all_rows(
    logged_in_page: Open, committed_shop: Shop, owner: User, axe: None
) -> None:
    for number in range(28):
        make_product(f"Lamp {number}")
    window = logged_in_page(owner, committed_shop, viewport=PHONE)
    page = window.open("/s/acme/admin/catalog/product/?size=25")
    bar, box = page.get_by_role("group", name="Actions for the selected rows"), page.get_by_label("Select record")

    box.nth(1).check()
    box.nth(4).click(modifiers=["Shift"])
    expect(bar).to_contain_text("Selected: 4")
    expect(bar.get_by_role("button", name="Edit…")).to_be_in_viewport()
    barriers = window.barriers()
    page.get_by_label("Select all 28").check()
    expect(bar).to_contain_text("Selected: 28")
    box.nth(2).uncheck()
    expect(bar).to_contain_text("Selected: 3")
    bar.get_by_role("button", name="Clear selection").click()
    expect(bar).to_be_hidden()
    expect(page.locator(STATUS)).to_have_text("Nothing is selected.")
    page.get_by_label("Select all objects on this page").check()
    expect(bar).to_contain_text("Selected: 25")
    page.get_by_label("Select all 28").check()
    bar.get_by_role("button", name="Edit…").click()
    expect(page.get_by_role("button", name="Preview")).to_be_visible()

    assert len(BulkEdit.objects.get().ids) == 28
    assert barriers == []
    assert window.problems == []


SHIFTS = """() => {
    window.shifted = 0;
    new PerformanceObserver(entries => {
        for (const entry of entries.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
    }).observe({type: 'layout-shift', buffered: true});
}"""


def note_file(files: list[str], request: Request) -> None:
    """Note a file of the page, except files that are combined when static files are collected.

    The numbers of notifications are fetched later.
    """
    combined = {part for parts in settings.STATIC_BUNDLES.values() for part in parts}
    if request.resource_type != "fetch" and request.url.partition("/static/")[2] not in combined:
        files.append(request.url)


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_lists_load_few_files_and_do_not_move(
    logged_in_page: Open, committed_shop: Shop, owner: User, viewport: ViewportSize
) -> None:
    create_orders(committed_shop, 26)
    make_product("Lamp")
    make_customer(email="ada@example.com")
    for name in (ORDERS, "catalog_product_changelist", "customers_customer_changelist"):
        window = logged_in_page(owner, committed_shop, viewport=viewport)
        window.page.add_init_script(f"({SHIFTS})()")
        files: list[str] = []
        window.page.on("request", partial(note_file, files))
        for _cache in ("empty", "full"):
            files.clear()
            page = window.go(name)
            page.wait_for_load_state("networkidle")

            assert page.evaluate("() => window.shifted") <= 0.05, name
            assert len(files) <= 8, files
        assert window.problems == []


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_the_list_works_without_scripts(
    logged_in_page: Open, committed_shop: Shop, owner: User, viewport: ViewportSize
) -> None:
    orders = create_orders(committed_shop, 3)
    window = logged_in_page(owner, committed_shop, viewport=viewport, java_script_enabled=False)
    page = window.go(ORDERS)
    bar = page.get_by_role("group", name="Actions for the selected rows")

    page.get_by_role("link", name="Filters").click()
    expect(page.get_by_role("dialog", name="Filters")).to_be_visible()
    page.get_by_role("link", name="Close", exact=True).click()
    expect(page.get_by_role("dialog", name="Filters")).to_be_hidden()
    open_list_menu(page)
    expect(page.get_by_role("link", name="Export…")).to_be_visible()
    open_list_menu(page)
    expect(bar).to_be_hidden()
    page.get_by_label("Select record").nth(1).check()
    page.get_by_label("Select record").nth(1).press("Enter")
    expect(bar).to_be_in_viewport()
    bar.get_by_role("button", name="Close orders").click()
    expect(page.get_by_text("1 order closed.")).to_be_visible()

    assert list(Order.objects.exclude(closed_at=None)) == [orders[1]]


def test_views_are_a_menu_on_phones(logged_in_page: Open, committed_shop: Shop, owner: User, axe: None) -> None:
    for screen in ("orders.order", "content.page"):
        SavedView.objects.create(shop=committed_shop, user=owner, screen=screen, name="Big ones", query="q=big")
    window = logged_in_page(owner, committed_shop, viewport=PHONE)
    page = window.go("orders_order_changelist")
    views = page.get_by_role("navigation", name="Views")
    menu = views.locator("summary")

    expect(menu).to_contain_text("Open")
    expect(views.get_by_role("link")).to_have_count(0)
    menu.press("Enter")
    assert [link.inner_text() for link in views.get_by_role("link").all()][-2:] == ["All", "Big ones"]
    expect(views.get_by_role("link", name="Open", exact=True)).to_have_attribute("aria-current", "page")
    assert (window.barriers(), window.unreachable()) == ([], [])
    views.get_by_role("link", name="Big ones").click()
    expect(menu).to_contain_text("Big ones")
    page.set_viewport_size(DESK)
    expect(views.get_by_role("link", name="Big ones")).to_be_visible()
    expect(menu).to_be_hidden()
    page.set_viewport_size(PHONE)
    page.goto(f"{window.go('content_page_changelist').url}?q=small")
    expect(menu).to_contain_text("Choose a view")
    assert window.problems == []
