"""Tests for product imports from the reference platform's CSV: column mapping, validation, import, report."""

import csv
import io

import pytest
from playwright.sync_api import Page, expect

from apps.catalog.models import Product, Variant
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop
from apps.staff.models import User
from tests.browser.conftest import Open
from tests.browser.full_shop import run_jobs
from tests.catalog.factories import make_product

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("media_root")]

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
    page.get_by_role("link", name="Import…").click()
    file = {"name": "products.csv", "mimeType": "text/csv", "buffer": TABLE.encode()}
    page.get_by_label("File", exact=True).set_input_files(file)  # type: ignore[arg-type]
    page.get_by_role("button", name="Upload and validate").click()
    expect(page.get_by_text("This page updates automatically.")).to_be_visible()


def test_a_table_is_mapped_looked_at_taken_in_and_says_why_a_row_was_not(
    logged_in_page: Open, committed_shop: Shop, owner: User, axe: None
) -> None:
    with shop_scope(committed_shop):
        make_product("Mug", prices=("10.00", "20.00"), vendor="Old")
    window = logged_in_page(owner, committed_shop)
    page = window.go("catalog_product_changelist")
    upload_file(page)

    # The page updates itself when the worker is done.
    run_jobs()
    expect(page.get_by_text("1 unknown column will be ignored:")).to_contain_text("Maker")
    expect(page.get_by_text("is not supported and will be ignored:")).to_contain_text("Product Category")
    page.get_by_role("link", name="Map columns…").click()
    expect(page.get_by_role("link", name="Import as products")).to_have_attribute("aria-current", "true")
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
    expect(refused).to_contain_text("Variant 1: Price is invalid.")
    with shop_scope(committed_shop):
        assert list(Product.objects.values_list("title", "vendor")) == [("Mug", "Old")]
    barriers += window.barriers()
    page.set_viewport_size({"width": 390, "height": 844})
    barriers += window.barriers()
    page.get_by_role("button", name="Import 2 rows").click()
    expect(page.get_by_text("This page updates automatically.")).to_be_visible()
    run_jobs()

    expect(page.get_by_role("heading", name="Status")).to_be_visible()
    expect(page.get_by_role("region", name="Rows with errors")).to_contain_text("Variant 1: Price is invalid.")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download report").click()
    report_rows = list(csv.DictReader(io.StringIO(download.value.path().read_text(encoding="utf-8-sig"))))
    assert [(row["line"], row["fate"]) for row in report_rows] == [("2", "changed"), ("4", "failed"), ("5", "new")]
    assert report_rows[1]["reason"] == "variant 1: price is invalid"
    with shop_scope(committed_shop):
        assert set(Product.objects.values_list("title", "vendor")) == {("Mug", MAKER), ("Plate", "Clay")}
        assert [f"{price:.2f}" for price in Variant.objects.order_by("pk").values_list("price", flat=True)] == [
            "12.50",
            "22.50",
            "9.90",
        ]
    assert barriers == []
    assert window.problems == []
