import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.catalog.domain import products
from apps.catalog.domain.inputs import ProductParts, VariantInput
from apps.catalog.models import Product, Variant
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.models import Customer
from apps.inventory.domain.transfers import create_transfer, send_transfer
from apps.orders.models import Order
from tests.support.browser.click_counter import InputCounter
from tests.support.browser.full_shop import run_jobs
from tests.support.browser.pages import BrowserPage
from tests.support.factories.catalog import PNG, make_product
from tests.support.factories.inventory import (
    get_available,
    get_first_location,
    make_item,
    make_location,
    set_stock,
)
from tests.support.factories.orders import make_order

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("media_root")]

COLOURS = ("Red", "Blue", "Green")
CUSTOMERS = "first_name,last_name,email\n" + "".join(f"Ada,No {n},ada{n}@example.com\n" for n in range(200))
ADDRESS = {"last_name": "Lovelace", "address1": "1 Main Street", "city": "Ottawa", "country_code": "CA"}


def test_a_product_with_variants_takes_at_most_15_clicks(window: BrowserPage) -> None:
    page = window.go("catalog_product_changelist")
    hands = InputCounter(page)

    hands.click(page.get_by_role("link", name="Add product").first)
    expect(page.get_by_label("Title", exact=False).first).to_be_focused()
    hands.type("Shirt")
    hands.click(page.get_by_label("Name of option 1", exact=True))
    for text in ("Size", "S", "M"):
        hands.type(text)
        hands.press("Enter")
    hands.click(page.get_by_role("button", name="Add another option"))
    for text in ("Colour", *COLOURS):
        hands.type(text)
        hands.press("Enter")
    hands.drop(page.get_by_role("region", name="Images"), *((f"{name}.png", "image/png", PNG) for name in COLOURS))
    for colour in COLOURS:
        hands.choose(page.get_by_label(f"Variants with {colour}.png"), colour)
    hands.click(page.get_by_label("Price, S / Red", exact=True))
    hands.type("9,90")
    hands.click(page.get_by_role("button", name="Fill Price down"))
    hands.click(page.get_by_role("button", name="Save", exact=True))
    page.wait_for_url("**/catalog/product/")

    assert hands.clicks == 13  # The limit is 15.
    variants = Variant.objects.order_by("position").values_list("title", "price", "image__position")
    assert [(title, f"{price:.2f}", position) for title, price, position in variants] == [
        (f"{size} / {colour}", "9.90", position) for size in "SM" for position, colour in enumerate(COLOURS, 1)
    ]


@pytest.mark.parametrize("case", [("", "-10", "9.00"), ("Set to", "12,90", "12.90")], ids=["percent", "set"])
def test_twenty_prices_take_6_clicks(window: BrowserPage, case: tuple[str, str, str]) -> None:
    how, typed, price = case
    for number in range(20):
        make_product(f"Mug {number}", prices=("10.00",))
    page = window.go("catalog_product_changelist")
    hands = InputCounter(page)

    hands.click(page.get_by_label("Select all objects on this page"))
    hands.click(page.get_by_role("button", name="Edit…"))
    expect(page.get_by_label("Price: value", exact=True)).to_be_focused()
    hands.type(typed)
    if how:
        hands.choose(page.get_by_label("Price: method", exact=True), how)
    hands.click(page.get_by_role("button", name="Preview"))
    hands.click(page.get_by_role("button", name="Change 20 products"))
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    run_jobs()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()

    assert hands.clicks == (6 if how else 4)  # The limit is 6.
    prices = Variant.objects.values_list("price", flat=True)
    assert [f"{price_value:.2f}" for price_value in prices] == [price] * 20


def test_the_address_of_an_order_takes_4_clicks(window: BrowserPage, committed_shop: Shop) -> None:
    order = make_order(committed_shop, email="ada@example.com", shipping_address=ADDRESS)
    page = window.go("orders_order_changelist")
    hands = InputCounter(page)

    hands.click(page.get_by_role("link", name=order.name, exact=True))
    hands.click(page.get_by_role("link", name="Edit address…"))
    hands.click(page.get_by_role("group", name="Shipping address").get_by_label("Address", exact=True))
    hands.press("Control+a")
    hands.type("2 Side Street")
    hands.click(page.get_by_role("button", name="Save", exact=True))
    expect(page.get_by_text("2 Side Street").first).to_be_visible()

    assert hands.clicks == 4  # The limit is 4.
    address = Order.objects.get().shipping_address
    assert address
    assert address["address1"] == "2 Side Street"


def test_an_import_of_200_customers_takes_5_clicks(window: BrowserPage) -> None:
    page = window.go("imports_exports_import_changelist")
    hands = InputCounter(page)

    hands.click(page.get_by_role("link", name="Upload file…"))
    hands.choose_file(page.get_by_label("Choose file", exact=True), "customers.csv", "text/csv", CUSTOMERS.encode())
    hands.click(page.get_by_role("button", name="Upload and validate"))
    expect(page.get_by_text("This page updates automatically.")).to_be_visible()
    run_jobs()
    hands.click(page.get_by_role("button", name="Import 200 rows"))
    expect(page.get_by_text("This page updates automatically.")).to_be_visible()
    run_jobs()
    expect(page.get_by_role("heading", name="Status")).to_be_visible()

    assert hands.clicks == 5  # The limit is 5.
    assert Customer.objects.count() == 200


def test_a_product_is_saved_with_25_keystrokes(window: BrowserPage) -> None:
    """Count every key press, including the search and the price, but not the letters of the title."""
    page = window.go()
    hands = InputCounter(page)
    title, price = "Blue shirt of wool", page.get_by_label("Price, Default variant", exact=True)

    hands.press("Control+k")
    expect(page.get_by_role("searchbox", name="Search")).to_be_focused()
    hands.type("add p")
    hands.press("Enter")
    page.wait_for_url("**/catalog/product/add/")
    expect(page.get_by_label("Title", exact=False).first).to_be_focused()
    hands.type(title)
    while not price.evaluate("field => field === document.activeElement"):
        assert hands.keys < 25
        hands.press("Tab")
    hands.type("9,90")
    hands.press("Control+s")
    page.wait_for_url("**/catalog/product/")

    assert hands.clicks == 0
    assert hands.keys + hands.characters - len(title) == 23  # The limit is 24.
    assert Product.objects.get().title == title
    assert f"{Variant.objects.get().price:.2f}" == "9.90"


def test_the_history_of_a_price_takes_2_clicks(window: BrowserPage) -> None:
    product = make_product("Mug", prices=("18.00",))
    row = VariantInput(id=product.variants.get().pk, attrs={"price": "29.50"})
    products.update_product(product, {}, ProductParts(variants=[row]), actor="system", at=timezone.now())
    page = window.go("catalog_product_changelist")
    hands = InputCounter(page)

    hands.click(page.get_by_role("link", name="Mug", exact=True).last)
    hands.click(page.get_by_role("link", name="History", exact=True))
    expect(page.get_by_text("Price: 18.00 → 29.50")).to_be_visible()

    assert hands.clicks == 2  # The limit is 2.


def test_receiving_12_variants_by_scanner_takes_at_most_20_keys_each(window: BrowserPage) -> None:
    items = [make_product(f"Mug {number}").variants.get().inventory_item for number in range(12)]
    codes = [f"40063813339{number:02}" for number in range(12)]
    for item, code in zip(items, codes, strict=True):
        Variant.objects.filter(inventory_item=item).update(barcode=code)
    page = window.go("inventory_stockreceipt_add")
    field = page.get_by_label("SKU, barcode or product")
    expect(field).to_be_focused()
    hands = InputCounter(page)

    for code in codes:
        hands.type(code)
        hands.press("Enter")
        hands.type("12")
        hands.press("Enter")
    hands.type(codes[0])
    hands.press("Enter")
    expect(page.get_by_label("Quantity of Mug 0")).to_have_value("13")
    hands.type("UNKNOWN")
    hands.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("No item has the SKU or barcode “UNKNOWN”.")
    expect(field).to_be_focused()
    hands.click(page.get_by_role("button", name="Receive stock"))
    expect(page.get_by_role("alert")).to_contain_text("Nothing was saved yet.")
    expect(field).to_be_focused()
    field.select_text()
    hands.press("Delete")
    hands.click(page.get_by_role("button", name="Receive stock"))
    expect(page.get_by_text("R1 received.")).to_be_visible()

    # The repeated and the unknown code are included.
    assert (hands.keys + hands.characters) / len(items) <= 20
    quantities = Variant.objects.order_by("pk").values_list("inventory_quantity", flat=True)
    assert list(quantities) == [13, *[12] * 11]


def test_the_items_of_a_transfer_are_counted_by_scanner(window: BrowserPage) -> None:
    shop = Shop.objects.get()
    first, second = (make_item(shop, sku=sku) for sku in ("MUG-1", "CUP-1"))
    depot = make_location(shop)
    with shop_scope(shop):
        for item in (first, second):
            set_stock(item, get_first_location(shop), 5)
        transfer = create_transfer(
            origin_id=get_first_location(shop).pk,
            destination_id=depot.pk,
            quantities={first.pk: 2, second.pk: 5},
            actor="system",
            at=timezone.now(),
        )
        send_transfer(transfer, actor="system", at=timezone.now())
    page = window.go("inventory_stocktransfer_change", transfer.pk)
    field = page.get_by_label("SKU, barcode or product")
    mugs, cups = (page.get_by_label(f"Received now of {sku}") for sku in ("MUG-1", "CUP-1"))
    expect(cups).to_have_value("5")
    hands = InputCounter(page)
    hands.click(field)
    for code in ("MUG-1", "MUG-1", "CUP-1", "+2", "UNKNOWN"):
        hands.type(code)
        hands.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("No item has the SKU or barcode “UNKNOWN”.")
    expect(mugs).to_have_value("2")
    expect(cups).to_have_value("3")
    field.select_text()
    hands.press("Delete")
    hands.click(page.get_by_role("button", name="Receive items"))
    expect(page.get_by_text("5 received. The stock at Depot is updated.")).to_be_visible()
    assert get_available(second, depot) == 3
