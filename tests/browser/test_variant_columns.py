"""The variant grid fits into the window: its columns are shown in groups, and links lead to items in transit."""

import pytest
from playwright.sync_api import ViewportSize, expect

from apps.catalog.models import Product
from apps.core.tenancy.models import Shop, User
from apps.inventory.domain import stock, transfers
from apps.inventory.models import InventoryItem
from tests.support.browser.pages import Open
from tests.support.factories.catalog import make_product
from tests.support.factories.inventory import get_first_location, make_location, make_transfer

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("media_root")]

DESK: ViewportSize = {"width": 1400, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
HIDDEN = "scroll => scroll.scrollWidth - scroll.clientWidth"


def make_shirt(shop: Shop, locations: int) -> Product:
    for number in range(locations - 1):
        make_location(shop, name=f"Warehouse {number + 2}")
    return make_product("Shirt", prices=("123456.78", "2.00"))


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize("locations", [3, 6])
@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_all_columns_are_reached_without_scrolling_sideways(
    logged_in_page: Open, committed_shop: Shop, owner: User, viewport: ViewportSize, locations: int
) -> None:
    product = make_shirt(committed_shop, locations)
    window = logged_in_page(owner, committed_shop, viewport=viewport)
    page = window.go("catalog_product_change", product.pk)
    grid, row = page.locator(".bo-sheet-scroll"), page.locator("tbody [data-row]").first
    groups = page.get_by_role("group", name="Columns").get_by_role("button")

    expect(groups).to_have_count(2)
    expect(row.locator("[data-cell=barcode]")).to_be_visible()
    assert grid.evaluate(HIDDEN) <= 0
    assert (window.barriers(), window.unreachable()) == ([], [])
    groups.nth(1).press("Enter")
    expect(groups.nth(1)).to_have_attribute("aria-pressed", "true")
    for cell in row.locator("[data-cell^=stock]").all():
        expect(cell).to_be_visible()
    expect(row.locator("[data-cell=inventory_policy]")).to_be_visible()
    assert grid.evaluate(HIDDEN) <= 0
    assert window.barriers() == []
    assert window.problems == []


def test_a_grid_that_fits_has_no_groups(logged_in_page: Open, committed_shop: Shop, owner: User) -> None:
    product = make_shirt(committed_shop, 3)
    window = logged_in_page(owner, committed_shop, viewport={"width": 1900, "height": 900})
    page = window.go("catalog_product_change", product.pk)

    expect(page.locator("tbody [data-row]").first.locator("[data-cell=inventory_policy]")).to_be_visible()
    expect(page.get_by_role("group", name="Columns")).to_be_hidden()


def test_a_refused_quantity_is_shown_with_its_column(logged_in_page: Open, committed_shop: Shop, owner: User) -> None:
    product = make_shirt(committed_shop, 6)
    window = logged_in_page(owner, committed_shop, viewport=DESK)
    page = window.go("catalog_product_change", product.pk)
    page.get_by_role("button", name="Stock", exact=True).click()
    page.locator("tbody [data-row]").first.locator("[data-cell^=stock]").first.fill("-1")

    page.get_by_role("button", name="Save and continue editing").click()

    expect(page.get_by_text("Enter a number from 0 to").first).to_be_visible()
    expect(page.get_by_role("button", name="Stock", exact=True)).to_have_attribute("aria-pressed", "true")


@pytest.mark.usefixtures("axe")
def test_a_phone_folds_variants_and_keeps_save_in_view(logged_in_page: Open, committed_shop: Shop, owner: User) -> None:
    product = make_product("Shirt", prices=("1.00", "2.00", "3.00", "4.00"))
    window = logged_in_page(owner, committed_shop, viewport=PHONE)
    page = window.go("catalog_product_change", product.pk)
    row, save = page.locator("tbody [data-row]").first, page.get_by_role("button", name="Save", exact=True)

    expect(save).to_be_in_viewport()
    expect(row.locator("[data-cell=price]")).to_be_visible()
    expect(row.locator("[data-cell=barcode]")).to_be_hidden()
    row.get_by_role("button", name="All fields").click()
    row.locator("[data-cell=barcode]").fill("S-1")
    assert (window.barriers(), window.unreachable()) == ([], [])
    delete = page.get_by_role("link", name="Delete product")
    delete.scroll_into_view_if_needed()
    tops = [button.bounding_box() for button in (save, delete)]
    assert tops[0]
    assert tops[1]
    assert tops[0]["y"] < tops[1]["y"]
    save.click()
    page.wait_for_url("**/catalog/product/")
    assert product.variants.filter(barcode="S-1").count() == 1


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_items_in_transit_lead_to_the_transfer(
    logged_in_page: Open, committed_shop: Shop, owner: User, viewport: ViewportSize
) -> None:
    product = make_shirt(committed_shop, 2)
    variant = product.variants.order_by("pk").first()
    assert variant is not None
    item = InventoryItem.objects.get(pk=variant.inventory_item_id)
    stock.set_available(item, get_first_location(committed_shop), 20, actor="system", at=product.created_at)
    depot = make_location(committed_shop, name="Depot")
    transfer = make_transfer(item, depot, 12)
    transfers.send_transfer(transfer, actor="system", at=product.created_at)
    window = logged_in_page(owner, committed_shop, viewport=viewport)

    page = window.go("catalog_product_change", product.pk)
    links = page.get_by_role("link", name=f"12 in transit ({transfer})")
    expect(links).to_have_count(1)
    assert window.barriers() == []
    links.click()
    expect(page.get_by_role("heading", name=str(transfer)).first).to_be_visible()
    page = window.go("catalog_variant_change", variant.pk)
    expect(page.get_by_text("12 in transit to Depot, not available yet.")).to_be_visible()
    assert window.barriers() == []
    page.get_by_role("link", name=f"Transfer {transfer}").click()
    expect(page.get_by_role("heading", name=str(transfer)).first).to_be_visible()
