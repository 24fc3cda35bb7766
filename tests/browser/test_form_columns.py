"""The forms of products and customers: the most used fields first, and status and organization in a side column."""

import pytest
from playwright.sync_api import expect

from tests.support.browser.pages import BrowserPage
from tests.support.factories.catalog import make_product
from tests.support.factories.customers import make_customer

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PLACE = "element => { const box = element.getBoundingClientRect(); return [box.left, box.top]; }"


@pytest.mark.parametrize(("width", "is_beside"), [(1400, True), (1000, True), (390, False)])
def test_the_status_of_a_product_is_beside_or_below_its_title(
    window: BrowserPage, axe: None, width: int, is_beside: bool
) -> None:
    product = make_product("Mug", prices=("10.00",))
    page = window.go("catalog_product_change", product.pk)
    page.set_viewport_size({"width": width, "height": 900})

    title = page.get_by_label("Title", exact=False).first.evaluate(PLACE)
    status = page.get_by_label("Status", exact=False).locator("visible=true").first.evaluate(PLACE)
    images = page.get_by_role("heading", name="Images").evaluate(PLACE)
    variants = page.get_by_role("heading", name="Variants").evaluate(PLACE)
    tags = page.get_by_label("Tags", exact=False).first.evaluate(PLACE)

    assert (status[0] > title[0] + 200) is is_beside
    assert title[1] < images[1] < variants[1]
    assert status[1] < images[1]
    assert status[1] < tags[1] < variants[1]
    assert (window.barriers(), window.unreachable()) == ([], [])


@pytest.mark.parametrize(("width", "is_beside"), [(1400, True), (1000, True), (390, False)])
def test_the_consent_of_a_customer_is_beside_or_below(
    window: BrowserPage, axe: None, width: int, is_beside: bool
) -> None:
    customer = make_customer(email="ada@example.com")
    page = window.go("customers_customer_change", customer.pk)
    page.set_viewport_size({"width": width, "height": 900})

    name = page.get_by_label("First name", exact=True).first.evaluate(PLACE)
    orders = page.get_by_role("heading", name="Latest orders").evaluate(PLACE)
    consent = page.get_by_label("Email marketing", exact=True).first.evaluate(PLACE)

    assert (consent[0] > name[0] + 200) is is_beside
    note = page.get_by_label("Note", exact=True).first.evaluate(PLACE)
    assert orders[1] < name[1]
    assert is_beside or consent[1] > note[1]
    menu = page.locator("summary", has_text="More")
    menu.press("Enter")
    expect(page.get_by_role("link", name="Merge customers…")).to_be_visible()
    # The open menu covers fields.
    menu.press("Enter")
    assert (window.barriers(), window.unreachable()) == ([], [])
