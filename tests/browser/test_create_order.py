import re
from decimal import Decimal

import pytest
from playwright.sync_api import Locator, Page, expect

from apps.catalog.models import Variant
from apps.core.tenancy.models import Shop, User
from apps.core.tenancy.scope import shop_scope
from apps.draft_orders.models import DraftOrder
from apps.inventory.models import InventoryItem
from apps.orders.models import Order
from tests.support.browser.click_counter import InputCounter
from tests.support.browser.pages import BrowserPage, Open
from tests.support.factories.catalog import make_product
from tests.support.factories.customers import make_address, make_customer
from tests.support.factories.draft_orders import complete, make_draft_order

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ADD, LIST, CHANGE = (f"draft_orders_draftorder_{name}" for name in ("add", "changelist", "change"))


@pytest.fixture
def shop(committed_shop: Shop) -> Shop:
    """Return a shop with two products and a customer."""
    with shop_scope(committed_shop):
        for sku, title, barcode in (("MUG-1", "Mug", "4006381333931"), ("CUP-1", "Cup", "4006381333948")):
            variant = make_product(title, prices=("10.00",)).variants.get()
            Variant.objects.filter(pk=variant.pk).update(barcode=barcode)
            InventoryItem.objects.filter(pk=variant.inventory_item_id).update(sku=sku)
        make_address(make_customer(email="ada@example.com", first_name="Ada", last_name="Lovelace"))
    return committed_shop


def expect_total(page: Page, total: str) -> None:
    expect(page.locator("#draft-totals").get_by_text(total).last).to_be_visible()


def get_quantities(page: Page) -> list[str]:
    return [field.input_value() for field in page.get_by_label(re.compile("Quantity: (Mug|Cup)")).all()]


def test_an_order_by_phone_takes_7_keys(window: BrowserPage, shop: Shop) -> None:
    page = window.go(ADD)
    hands = InputCounter(page)

    for sku in ("MUG-1", "CUP-1"):
        hands.type(sku)
        hands.press("Enter")
    hands.press("Enter")
    hands.type("ada@example.com")
    hands.press("Enter")
    expect(page.get_by_label("Shipping method")).to_be_focused()
    hands.type("Parcel")
    hands.press("Enter")
    hands.type("4.90")
    expect_total(page, "24.90 USD")
    hands.press("Enter")
    hands.press("Enter")
    page.wait_for_url("**/orders/order/**")

    assert (hands.keys, hands.clicks) == (7, 0)  # The limit is 12.
    assert hands.characters < 40
    order = Order.objects.get()
    assert (str(order.total_price), order.financial_status, order.email) == ("24.900", "paid", "ada@example.com")
    assert order.shipping_address is not None
    assert order.shipping_address["city"] == "Lund"


# Each response takes half a second.
SLOW = """
const load = window.fetch;
window.fetch = async (...values) => {
  const response = await load(...values);
  await new Promise((resume) => setTimeout(resume, 500));
  return response;
};
"""


def test_a_slow_server_takes_the_focus_from_no_later_field(window: BrowserPage, shop: Shop) -> None:
    window.page.add_init_script(SLOW)
    page = window.go(ADD)
    term = page.get_by_label("Find customer")

    for sku in ("MUG-1", "CUP-1"):
        page.keyboard.type(sku)
        page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.keyboard.type("ada@exam")
    expect_total(page, "20.00 USD")
    expect(term).to_be_focused()
    page.keyboard.type("ple.com")
    page.keyboard.press("Enter")

    expect(page.get_by_label("Shipping method")).to_be_focused()
    expect(page.get_by_role("status").filter(has_text="Customer: Ada Lovelace")).to_have_count(1)


def test_saving_an_unchanged_draft_changes_nothing(window: BrowserPage, shop: Shop) -> None:
    with shop_scope(shop):
        variant = Variant.objects.get(inventory_item__sku="MUG-1")
        lines = [
            {"variant_id": variant.pk, "applied_discount": {"value": "1", "title": " Old\nprice "}},
            {"title": " Gift\nwrap ", "price": Decimal(3)},
        ]
        address = {"first_name": "Ada", "address1": "1 Main Street\nFloor 2", "city": "Berlin", "country_code": "DE"}
        draft = make_draft_order(
            lines,
            email="ada@exämple.org",
            shipping_address=address,
            shipping_line={"title": " Post ", "price": Decimal(5), "handle": "post-1"},
            note="Ring\ntwice",
        )
    page = window.go(CHANGE, draft.pk)

    page.keyboard.press("Control+s")
    expect(page.get_by_text("Draft #D1 saved.")).to_be_visible()

    with shop_scope(shop):
        assert DraftOrder.objects.get().version == draft.version


def test_scanned_codes_are_added_in_order_without_losing_the_focus(window: BrowserPage, shop: Shop) -> None:
    page = window.go(ADD)

    for code in ("4006381333931", "4006381333948", "NO-SUCH", "4006381333931", "4006381333931"):
        page.keyboard.type(code)
        page.keyboard.press("Enter")
    expect_total(page, "40.00 USD")

    assert get_quantities(page) == ["3", "1"]
    expect(page.get_by_label("Product, SKU or barcode")).to_be_focused()
    expect(page.get_by_text("No product matches “NO-SUCH”.")).to_be_visible()


def test_results_are_chosen_with_the_arrow_keys(window: BrowserPage, shop: Shop) -> None:
    page = window.go(ADD)

    page.keyboard.type("mu")
    expect(page.get_by_role("button", name="Add Mug")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")

    expect_total(page, "10.00 USD")
    expect(page.get_by_label("Product, SKU or barcode")).to_be_focused()
    expect(page.get_by_label("Product, SKU or barcode")).to_have_value("")


@pytest.mark.parametrize("hand", ["mouse", "keyboard"])
def test_choosing_results_shows_no_error_and_keeps_the_focus(window: BrowserPage, shop: Shop, hand: str) -> None:
    page = window.go(ADD)
    code, term = page.get_by_label("Product, SKU or barcode"), page.get_by_label("Find customer")

    page.keyboard.type("mu")
    choose(page, page.get_by_role("button", name="Add Mug"), hand)
    expect_total(page, "10.00 USD")
    expect(code).to_be_focused()
    page.keyboard.type("cu")
    expect(code).to_have_value("cu")
    choose(page, page.get_by_role("button", name="Add Cup"), hand)
    expect_total(page, "20.00 USD")
    expect(code).to_be_focused()
    term.focus()
    page.keyboard.type("love")
    choose(page, page.get_by_role("button", name="Ada Lovelace"), hand)
    expect(page.get_by_label("Shipping method")).to_be_focused()
    page.keyboard.type("Parcel")

    expect(page.get_by_label("Shipping method")).to_have_value("Parcel")
    expect(page.locator("#draft-errors .bo-note-error")).to_have_count(0)
    assert get_quantities(page) == ["1", "1"]


def test_a_percentage_is_added_from_the_summary(window: BrowserPage, shop: Shop) -> None:
    page = window.go(ADD)
    page.keyboard.type("MUG-1")
    page.keyboard.press("Enter")
    expect_total(page, "10.00 USD")

    page.get_by_role("link", name="Add discount").click()
    discount = page.get_by_role("group", name="Discount on the order").get_by_label("Discount", exact=True)
    expect(discount).to_be_focused()
    page.keyboard.type("10")

    expect_total(page, "9.00 USD")
    expect(page.get_by_role("link", name="Add discount")).to_have_count(0)


def choose(page: Page, result: Locator, hand: str) -> None:
    expect(result).to_be_visible()
    if hand == "mouse":
        result.click()
    else:
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")


def test_input_during_a_step_is_kept(window: BrowserPage, shop: Shop) -> None:
    page = window.go(ADD)
    page.keyboard.type("MUG-1")
    page.keyboard.press("Enter")
    expect_total(page, "10.00 USD")

    page.keyboard.type("CUP-1")
    page.keyboard.press("Enter")
    page.get_by_label("Quantity: Mug").fill("3")
    page.get_by_label("First name").first.fill("Grace")

    expect_total(page, "40.00 USD")
    assert get_quantities(page) == ["3", "1"]
    expect(page.get_by_label("First name").first).to_have_value("Grace")


def test_a_draft_is_saved_with_the_keyboard(window: BrowserPage, shop: Shop) -> None:
    page = window.go(ADD)
    page.keyboard.type("MUG-1")
    page.keyboard.press("Enter")
    page.keyboard.press("Control+s")

    expect(page.get_by_text("Draft #D1 saved.")).to_be_visible()
    assert DraftOrder.objects.get().total_price == 10


def test_an_order_is_created_without_javascript(
    logged_in_page: Open, committed_shop: Shop, owner: User, shop: Shop
) -> None:
    page = logged_in_page(owner, committed_shop, java_script_enabled=False).go(ADD)

    page.get_by_label("Product, SKU or barcode").fill("MUG-1")
    page.keyboard.press("Enter")
    page.get_by_label("Find customer").fill("ada@example.com")
    page.get_by_role("button", name="Find", exact=True).click()
    page.get_by_label("Quantity: Mug").fill("2")
    page.get_by_role("button", name="Calculate").click()
    expect_total(page, "20.00 USD")
    page.get_by_role("radio", name="Payment due later").check()
    page.get_by_role("button", name="Create order").click()

    expect(page.get_by_text("was created from draft #D1")).to_be_visible()
    assert Order.objects.get().financial_status == "pending"


def test_the_total_and_the_payment_are_in_view(window: BrowserPage, shop: Shop) -> None:
    window.page.set_viewport_size({"width": 1280, "height": 900})
    page = window.go(ADD)
    page.keyboard.type("MUG-1")
    page.keyboard.press("Enter")

    expect(page.locator("#draft-totals strong").get_by_text("10.00 USD")).to_be_in_viewport()
    expect(page.get_by_role("radio", name="Payment due later")).to_be_in_viewport()
    expect(page.locator("#draft-bar-total")).to_be_hidden()
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_label("Quantity: Mug").fill("3")
    expect(page.locator("#draft-bar-total").get_by_text("30.00 USD")).to_be_in_viewport()


@pytest.mark.parametrize("width", [1400, 390])
def test_the_pages_have_no_barriers(window: BrowserPage, shop: Shop, width: int, axe: None) -> None:
    with shop_scope(shop):
        done = complete(make_draft_order())
        draft = make_draft_order()
    window.page.set_viewport_size({"width": width, "height": 700})
    page = window.go(ADD)
    page.keyboard.type("MUG-1")
    page.keyboard.press("Enter")
    expect_total(page, "10.00 USD")
    page.get_by_role("button", name="Add custom item").click()
    page.locator("summary", has_text="Discount").first.click()
    page.locator("summary", has_text="Billing address").click()
    page.get_by_label("Product, SKU or barcode").fill("cu")
    expect(page.get_by_role("button", name="Add Cup")).to_be_visible()
    page.get_by_label("Quantity: Mug").fill("x")
    expect(page.get_by_text("Enter a whole number.")).to_be_visible()

    assert window.barriers() == []
    for name, *about in ((LIST,), (CHANGE, draft.pk), (CHANGE, done.pk), ("draft_orders_draftorder_invoice", draft.pk)):
        window.page.on("dialog", lambda dialog: dialog.accept())
        window.go(name, *about)
        assert window.barriers() == [], name
