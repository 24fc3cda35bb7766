import csv
import io

import pytest
from playwright.sync_api import Page, expect

from apps.catalog.models import Product, Variant
from tests.support.browser.full_shop import run_jobs
from tests.support.browser.list_menu import open_list_menu
from tests.support.browser.pages import BrowserPage
from tests.support.factories.catalog import make_product

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def get_prices() -> dict[str, str]:
    return {title: f"{price:.2f}" for title, price in Variant.objects.values_list("product__title", "price")}


def read_count(page: Page, label: str) -> str:
    return page.get_by_role("definition").nth(page.get_by_role("term").all_inner_texts().index(label)).inner_text()


def test_prices_are_changed_and_restored(window: BrowserPage, axe: None) -> None:
    for title, price in (("Mug", "20.00"), ("Bowl", "10.00"), ("Sticker", "1.00")):
        make_product(title, prices=(price,))
    page = window.go("catalog_product_changelist")

    page.get_by_label("Select all objects on this page").check()
    page.get_by_role("button", name="Edit…").click()
    amount = page.get_by_label("Price: value", exact=True)
    expect(amount).to_be_focused()
    page.get_by_label("Price: method", exact=True).select_option(label="Change by amount")
    amount.fill("-2,50")
    amount.press("Enter")
    look = page.get_by_role("region", name="Preview")
    expect(look.get_by_role("row", name="Mug")).to_contain_text("20.00 → 17.50")
    expect(look.get_by_role("row", name="Sticker")).to_contain_text("Price must be greater than or equal to 0")
    expect(look).to_be_in_viewport()
    assert get_prices() == {"Mug": "20.00", "Bowl": "10.00", "Sticker": "1.00"}
    barriers = window.barriers()

    page.get_by_role("button", name="Change 3 products").press("Enter")
    expect(page.get_by_role("progressbar")).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("0 of 3")
    run_jobs()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    assert get_prices() == {"Mug": "17.50", "Bowl": "7.50", "Sticker": "1.00"}
    assert (read_count(page, "Changed"), read_count(page, "Rejected")) == ("2", "1")
    rejected = page.get_by_role("region", name="Rows that were rejected or not restored")
    expect(rejected.get_by_role("row", name="Sticker")).to_contain_text("Price must be greater than or equal to 0")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download report").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text(encoding="utf-8-sig"))))
    assert {row["name"]: row["result"] for row in rows} == {"Mug": "Changed", "Bowl": "Changed", "Sticker": "Rejected"}
    barriers += window.barriers()
    page.set_viewport_size({"width": 390, "height": 844})
    barriers += window.barriers()

    page.get_by_role("button", name="Undo").press("Enter")
    expect(page.get_by_text("are being restored")).to_be_visible()
    run_jobs()
    expect(page.get_by_text("are being restored")).to_be_hidden()
    assert get_prices() == {"Mug": "20.00", "Bowl": "10.00", "Sticker": "1.00"}
    assert barriers == []


def test_filtered_rows_are_edited_by_keyboard(window: BrowserPage) -> None:
    for number in range(3):
        make_product(f"Draft {number}", status="draft")
    make_product("For sale", status="active")
    page = window.go("catalog_product_changelist")

    page.goto(f"{page.url}?status__exact=draft")
    open_list_menu(page)
    page.get_by_role("button", name="Edit all 3 in this list…").press("Enter")
    # The list's filter "By vendor" would also match the label "Vendor".
    expect(page.get_by_label("By vendor")).to_have_count(0)
    page.get_by_label("Vendor").fill("Clay & Co")
    page.get_by_label("Vendor").press("Enter")
    page.get_by_role("button", name="Change 3 products").press("Enter")
    expect(page.get_by_role("progressbar")).to_be_visible()
    run_jobs()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()

    edited = Product.objects.filter(vendor="Clay & Co").values_list("status", flat=True)
    assert list(edited) == ["draft"] * 3


def test_an_empty_form_asks_for_the_change(window: BrowserPage) -> None:
    make_product("Mug")
    page = window.go("catalog_product_changelist")

    open_list_menu(page)
    page.get_by_role("button", name="Edit all 1 in this list…").click()
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("Enter at least one change.")).to_be_visible()
    page.get_by_label("Price: value", exact=True).fill("1,234")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("Is this 1234 or 1.234?")).to_be_visible()
