"""Tests for the product page: chips for option values, the variant grid, images by drag and drop."""

import base64
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from apps.catalog.models import Product, ProductImage, Variant
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop
from apps.staff.models import User
from tests.browser.conftest import Open
from tests.catalog.factories import PNG, make_image, make_product
from tests.inventory.factories import make_location

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

DROP = """([box, data, names]) => {
    const transfer = new DataTransfer();
    const bytes = Uint8Array.from(atob(data), c => c.charCodeAt(0));
    names.forEach(name => transfer.items.add(new File([bytes], name, {type: 'image/png'})));
    for (const kind of ['dragenter', 'dragover', 'drop'])
        box.dispatchEvent(new DragEvent(kind, {dataTransfer: transfer, bubbles: true, cancelable: true}));
}"""
PASTE = """([cell, text]) => {
    const data = new DataTransfer();
    data.setData('text/plain', text);
    cell.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}));
}"""

# Return a row's cells in the visible part of the grid. The second script returns fields with cut-off text.
SEEN = """row => {
    const end = row.closest('.bo-sheet-scroll').getBoundingClientRect().right;
    return [...row.querySelectorAll('[data-cell]')]
        .filter(cell => cell.offsetParent && cell.getBoundingClientRect().right <= end).map(cell => cell.dataset.cell);
}"""
CUT = """row => [...row.querySelectorAll('input[type=text], input[type=number]')]
    .filter(cell => cell.offsetParent && cell.scrollWidth > cell.clientWidth).map(cell => cell.dataset.cell)"""


@pytest.fixture(autouse=True)
def upload_folder(settings: Any, tmp_path: Path) -> Path:
    """Store uploads in a temporary folder."""
    storage = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": str(tmp_path)}}
    settings.STORAGES = settings.STORAGES | {"default": storage}
    return tmp_path


def type_option(page: Page, option: int, name: str, *values: str) -> None:
    """Type an option and its values."""
    page.get_by_label(f"Name of option {option}", exact=True).fill(name)
    page.get_by_label(f"Name of option {option}", exact=True).press("Enter")
    for value in values:
        page.keyboard.type(value)
        page.keyboard.press("Enter")


def test_values_become_variants_and_the_sheet_is_filled_by_keyboard(
    logged_in_page: Open, committed_shop: Shop, owner: User, axe: None
) -> None:
    window = logged_in_page(owner, committed_shop)
    page = window.go("catalog_product_add")
    page.get_by_label("Title", exact=False).first.fill("Shirt")

    type_option(page, 1, "Size", "S", "M")
    page.get_by_role("button", name="Add another option").press("Enter")
    type_option(page, 2, "Colour", "Red", "Blue", "Green")
    expect(page.get_by_text("6 variants", exact=True)).to_be_visible()
    prices = page.locator("tbody [data-cell=price]")
    prices.first.fill("9,90")
    prices.first.press("Control+d")
    expect(prices.nth(5)).to_have_value("9,90")
    prices.first.press("Enter")
    expect(prices.nth(1)).to_be_focused()
    page.evaluate(PASTE, [page.locator("tbody [data-cell=sku]").nth(4).element_handle(), "A-5\t111\nA-6\t222\nlost"])
    expect(page.get_by_text("Cells pasted: 4. Cells skipped because they are outside the table: 1.")).to_be_visible()
    page.get_by_role("button", name="Rename Red").press("Enter")
    page.keyboard.type("Ruby")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Earlier: M").press("Enter")
    page.get_by_role("button", name="Remove Green").press("Enter")
    expect(page.get_by_text("“Green” removed. Variants also removed: M / Green, S / Green.")).to_be_visible()
    assert window.barriers() == []
    assert window.unreachable() == []
    page.get_by_role("button", name="Save", exact=True).press("Enter")
    page.wait_for_url("**/catalog/product/")

    assert window.problems == []
    with shop_scope(committed_shop):
        rows = list(Variant.objects.order_by("position").values_list("title", "price"))
        assert rows == [(title, Decimal("9.9")) for title in ("M / Ruby", "M / Blue", "S / Ruby", "S / Blue")]
        assert [option.values for option in Product.objects.get().options.all()] == [["M", "S"], ["Ruby", "Blue"]]


def test_pictures_are_dropped_on_the_page_that_adds_a_product(
    logged_in_page: Open, committed_shop: Shop, owner: User, axe: None
) -> None:
    window = logged_in_page(owner, committed_shop, viewport={"width": 390, "height": 844})
    page = window.go("catalog_product_add")
    page.get_by_label("Title", exact=False).first.fill("Shirt")
    type_option(page, 1, "Colour", "Red", "Blue")

    box = page.locator("[data-pictures]")
    page.evaluate(DROP, [box.element_handle(), base64.b64encode(PNG).decode(), ["red.png", "blue.png"]])
    expect(page.get_by_role("button", name="Remove blue.png")).to_be_visible()
    expect(page.get_by_role("button", name="Remove red.png")).to_be_visible()
    image_selects = page.locator("tbody select[data-cell=picture]")
    image_selects.nth(1).select_option(label="Image 2, blue.png")
    assert window.barriers() == []
    page.get_by_role("button", name="Save", exact=True).press("Enter")
    page.wait_for_url("**/catalog/product/")

    assert window.problems == []
    with shop_scope(committed_shop):
        second = ProductImage.objects.get(position=2)
        assert list(Variant.objects.order_by("position").values_list("title", "image_id")) == [
            ("Red", None),
            ("Blue", second.pk),
        ]


def test_a_refused_product_comes_back_as_it_was(logged_in_page: Open, committed_shop: Shop, owner: User) -> None:
    window = logged_in_page(owner, committed_shop)
    page = window.go("catalog_product_add")
    type_option(page, 1, "Size", "S", "M")
    page.get_by_role("button", name="Add another option").press("Enter")
    type_option(page, 2, "Colour", "Red", "Blue")
    page.evaluate(DROP, [page.locator("[data-pictures]").element_handle(), base64.b64encode(PNG).decode(), ["red.png"]])
    expect(page.get_by_role("button", name="Remove red.png")).to_be_visible()
    page.locator("tbody select[data-cell=picture]").nth(1).select_option(label="Image 1, red.png")
    for cell, text in ((("price", 1), "abc"), (("compare_at_price", 1), "abc"), (("price", 3), "abc")):
        page.locator(f"tbody [data-cell={cell[0]}]").nth(cell[1]).fill(text)

    page.get_by_role("button", name="Save", exact=True).press("Enter")

    expect(page.locator("[aria-invalid=true]")).to_have_count(4)
    expect(page.locator("#tabs-items .active")).to_have_text(re.compile(r"General\s+4"))
    titles = page.locator("tbody [data-row-title]")
    expect(titles).to_have_text(["S / Red", "S / Blue", "M / Red", "M / Blue"])
    expect(page.locator("tbody select[data-cell=picture] option:checked").nth(1)).to_have_text("Image 1, red.png")
    expect(page.get_by_role("button", name="Remove red.png")).to_be_visible()
    expect(page.get_by_label("Title", exact=False).first).to_be_focused()
    assert window.problems == []


def test_what_is_often_changed_is_seen_without_scrolling(
    logged_in_page: Open, committed_shop: Shop, owner: User, axe: None
) -> None:
    for name in ("Main Street store", "Harbor warehouse"):
        make_location(committed_shop, name=name)
    with shop_scope(committed_shop):
        product = make_product("Shirt", prices=("123456.78", "2.00"))
        make_image(product)
        Variant.objects.update(barcode="4006000888944")
    window = logged_in_page(owner, committed_shop, viewport={"width": 1400, "height": 900})
    page = window.go("catalog_product_change", product.pk)

    row = page.locator("tbody [data-row]").first
    expect(row.locator("[data-cell^=stock]")).to_have_count(3)
    cells = page.evaluate(SEEN, row.element_handle())
    often = ["picture", "price", "compare_at_price", "cost", "sku", "barcode"]
    assert [name for name in cells if not name.startswith("stock")][:6] == often
    assert len([name for name in cells if name.startswith("stock")]) == 3
    assert page.evaluate(CUT, row.element_handle()) == []
    picture = row.get_by_label("Image, 1", exact=True)
    picture.focus()
    page.keyboard.press("ArrowDown")
    expect(picture).to_have_value(re.compile(r"\d+"))
    expect(row.locator("[data-cell-picture] img")).to_be_visible()
    assert window.barriers() == []
    assert window.unreachable() == []


def test_scripts_speak_the_language_of_the_page(
    logged_in_page: Open, committed_shop: Shop, owner: User, axe: None
) -> None:
    User.objects.filter(pk=owner.pk).update(language="de")
    page = logged_in_page(owner, committed_shop).go("catalog_product_add")

    expect(page.get_by_role("button", name="Weitere Option hinzufügen")).to_be_visible()
    expect(page.get_by_role("button", name="Fett")).to_be_visible()
    page.get_by_role("textbox", name="Werte der Option 1").first.fill("Rot,Blau,")
    expect(page.get_by_role("button", name="Später: Rot")).to_be_visible()


@pytest.mark.parametrize("language", ["en-US", "de-DE"])
def test_on_a_phone_each_grid_cell_is_fully_visible_next_to_its_label(
    logged_in_page: Open, committed_shop: Shop, owner: User, language: str
) -> None:
    with shop_scope(committed_shop):
        product = make_product("Mug")
    window = logged_in_page(owner, committed_shop, viewport={"width": 390, "height": 844}, locale=language)

    page = window.go("catalog_product_change", product.pk)

    switch = page.locator("[data-cell=tracked]").first.bounding_box()
    assert switch is not None
    assert (switch["width"], switch["height"]) == (32, 20)
    # The option that selects the image column is hidden if no image is shown.
    assert page.locator("[data-cell-picture]").first.is_hidden()
    assert window.sideways() <= 0
    assert window.problems == []
