import base64
import csv
import io
import re
from decimal import Decimal

import pytest
from playwright.sync_api import FilePayload, Page, expect

from apps.catalog.models import Product, ProductImage, Variant
from apps.content.models import Theme
from apps.core.tenancy.models import Shop, User
from tests.support.browser.full_shop import run_jobs
from tests.support.browser.list_menu import open_list_menu
from tests.support.browser.pages import BrowserPage, Open
from tests.support.factories.catalog import PNG, make_custom, make_image, make_product
from tests.support.factories.inventory import make_location

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("media_root")]

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


def type_option(page: Page, option: int, name: str, *values: str) -> None:
    page.get_by_label(f"Name of option {option}", exact=True).fill(name)
    page.get_by_label(f"Name of option {option}", exact=True).press("Enter")
    for value in values:
        page.keyboard.type(value)
        page.keyboard.press("Enter")


def test_the_variant_grid_is_filled_by_keyboard(window: BrowserPage, axe: None) -> None:
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
    assert (window.barriers(), window.unreachable()) == ([], [])
    page.get_by_role("button", name="Save", exact=True).press("Enter")
    page.wait_for_url("**/catalog/product/")

    assert window.problems == []
    rows = list(Variant.objects.order_by("position").values_list("title", "price"))
    assert rows == [(title, Decimal("9.9")) for title in ("M / Ruby", "M / Blue", "S / Ruby", "S / Blue")]
    assert [option.values for option in Product.objects.get().options.all()] == [["M", "S"], ["Ruby", "Blue"]]


def test_images_are_dropped_on_the_add_page(logged_in_page: Open, committed_shop: Shop, owner: User, axe: None) -> None:
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
    second = ProductImage.objects.get(position=2)
    pairs = Variant.objects.order_by("position").values_list("title", "image_id")
    assert list(pairs) == [("Red", None), ("Blue", second.pk)]


def test_a_refused_product_comes_back_as_it_was(window: BrowserPage) -> None:
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


def test_a_new_product_is_complete_after_the_back_button(window: BrowserPage) -> None:
    page = window.go("catalog_product_add")
    page.get_by_label("Title", exact=False).first.fill("Shirt")
    type_option(page, 1, "Size", "S", "M")
    page.get_by_role("button", name="Add another option").click()
    type_option(page, 2, "Color", "Red", "Blue")
    page.get_by_label("Price, M / Blue", exact=True).fill("9,90")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/catalog/product/")

    page.go_back()
    expect(page.get_by_text("Your input is still here.")).to_be_visible()
    expect(page.get_by_label("Price, M / Blue", exact=True)).to_have_value("9,90")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/catalog/product/")
    page.get_by_role("link", name="Add product").first.click()

    expect(page.get_by_label("Name of option 1", exact=True)).to_have_value("")
    variants = Variant.objects.order_by("product", "position").values_list("title", "price")
    titles = ["S / Red", "S / Blue", "M / Red", "M / Blue"]
    expected = [(title, "9.90" if title == "M / Blue" else "0.00") for title in titles]
    assert [(title, f"{price:.2f}") for title, price in variants] == expected * 2
    assert window.problems == []


def test_frequent_fields_need_no_scrolling(logged_in_page: Open, committed_shop: Shop, owner: User, axe: None) -> None:
    for name in ("Main Street store", "Harbor warehouse"):
        make_location(committed_shop, name=name)
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
    assert (window.barriers(), window.unreachable()) == ([], [])


def test_scripts_use_the_pages_language(window: BrowserPage, owner: User, axe: None) -> None:
    User.objects.filter(pk=owner.pk).update(language="de")
    page = window.go("catalog_product_add")

    expect(page.get_by_role("button", name="Weitere Option hinzufügen")).to_be_visible()
    expect(page.get_by_role("button", name="Fett")).to_be_visible()
    page.get_by_role("textbox", name="Werte der Option 1").first.fill("Rot,Blau,")
    expect(page.get_by_role("button", name="Später: Rot")).to_be_visible()


@pytest.mark.parametrize("language", ["en-US", "de-DE"])
def test_grid_cells_are_visible_on_a_phone(
    logged_in_page: Open, committed_shop: Shop, owner: User, language: str
) -> None:
    product = make_product("Mug")
    window = logged_in_page(owner, committed_shop, viewport={"width": 390, "height": 844}, locale=language)

    page = window.go("catalog_product_change", product.pk)

    page.locator("[data-column-groups] button[value=stock]").click()
    switch = page.locator("[data-cell=tracked]").first.bounding_box()
    assert switch is not None
    assert (switch["width"], switch["height"]) == (32, 20)
    # The option that selects the image column is hidden if no image is shown.
    assert page.locator("[data-cell-picture]").first.is_hidden()
    assert window.sideways() <= 0
    assert window.problems == []


# A long value leaves little space for other columns.
MAKER = "Clay" + " and sons" * 12
TABLE = f"""\
Handle,Title,Maker,Product Category,Published,Option1 Name,Option1 Value,Variant SKU,Variant Price,Status
mug,Mug,{MAKER},Home,true,Size,1,M-1,12.50,active
mug,,,,,,2,M-2,22.50,
bowl,Bowl,Clay,Home,true,Title,Default Title,B-1,cheap,active
plate,Plate,Clay,Home,true,Title,Default Title,P-1,9.90,active
"""


# Return cells in which a word of at most 12 letters is split over two lines.
BROKEN = """() => [...document.querySelectorAll('.bo-table td')].filter(cell => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    const lines = new Set([...range.getClientRects()].map(place => place.top));
    return /^\\S{1,12}$/.test(cell.textContent.trim()) && lines.size > 1;
}).map(cell => cell.textContent)"""


def upload_file(page: Page) -> None:
    open_list_menu(page)
    page.get_by_role("link", name="Import…").click()
    file = {"name": "products.csv", "mimeType": "text/csv", "buffer": TABLE.encode()}
    page.get_by_label("Choose file", exact=True).set_input_files(file)  # type: ignore[arg-type]
    page.get_by_role("button", name="Upload and validate").click()
    expect(page.get_by_text("This page updates automatically.")).to_be_visible()


def test_a_file_is_mapped_previewed_and_imported_with_reasons_for_failed_rows(window: BrowserPage, axe: None) -> None:
    make_product("Mug", prices=("10.00", "20.00"), vendor="Old")
    page = window.go("catalog_product_changelist")
    upload_file(page)

    # The page updates itself when the worker is done.
    run_jobs()
    expect(page.get_by_text("The file has 1 unknown column:")).to_contain_text("Maker")
    expect(page.get_by_text("is not supported and will be ignored:")).to_contain_text("Product Category")
    page.get_by_role("link", name="Map columns…").click()
    expect(page.get_by_label("What is in the file?")).to_have_value("products")
    expect(page.get_by_label("Variant Price", exact=True)).to_have_value("Variant Price")
    page.get_by_label("Maker", exact=True).select_option("Vendor")
    barriers = window.barriers()
    page.get_by_role("button", name="Validate again").click()
    expect(page.get_by_text("This page updates automatically.")).to_be_visible()
    run_jobs()

    mug = page.get_by_role("region", name="First rows").get_by_role("row", name="Mug")
    expect(mug).to_contain_text(f"Vendor: Old → {MAKER}")
    expect(mug).to_contain_text("1: Price: 10.00 → 12.50")
    for width in (1400, 800):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(BROKEN) == []
    refused = page.get_by_role("region", name="Rows with errors").get_by_role("row").nth(1)
    expect(refused).to_contain_text("Variant 1: Column “Variant Price” is invalid: 'cheap'.")
    assert list(Product.objects.values_list("title", "vendor")) == [("Mug", "Old")]
    barriers += window.barriers()
    page.set_viewport_size({"width": 390, "height": 844})
    barriers += window.barriers()
    page.get_by_role("button", name="Import 2 rows").click()
    expect(page.get_by_text("This page updates automatically.")).to_be_visible()
    run_jobs()

    expect(page.get_by_role("heading", name="Status")).to_be_visible()
    expect(page.get_by_role("region", name="Rows with errors")).to_contain_text(
        "Variant 1: Column “Variant Price” is invalid: 'cheap'."
    )
    with page.expect_download() as download:
        page.get_by_role("link", name="Download report").click()
    report_rows = list(csv.DictReader(io.StringIO(download.value.path().read_text(encoding="utf-8-sig"))))
    assert [(row["line"], row["fate"]) for row in report_rows] == [("2", "changed"), ("4", "failed"), ("5", "new")]
    assert report_rows[1]["reason"] == "Variant 1: Column “Variant Price” is invalid: 'cheap'."
    assert set(Product.objects.values_list("title", "vendor")) == {("Mug", MAKER), ("Plate", "Clay")}
    prices = Variant.objects.order_by("pk").values_list("price", flat=True)
    assert [f"{price:.2f}" for price in prices] == ["12.50", "22.50", "9.90"]
    assert barriers == []


PICTURE: FilePayload = {"name": "cup.png", "mimeType": "image/png", "buffer": PNG}


def test_a_chosen_file_is_named_in_its_own_box(window: BrowserPage) -> None:
    product, collection = make_product(), make_custom()
    theme = Theme.objects.get(role="main")

    page = window.go("catalog_product_images", product.pk)
    page.locator("#files").set_input_files(PICTURE)
    page = window.go("content_theme_code", theme.pk)
    page.locator("#new-content").set_input_files(PICTURE)
    expect(page.locator("#new-key")).to_have_value("")
    page = window.go("catalog_customcollection_change", collection.pk)
    page.locator("input[type=file]").set_input_files(PICTURE)

    expect(page.get_by_label("Choose file to upload")).to_have_value("cup.png")
