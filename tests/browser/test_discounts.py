"""Create a discount in a browser, find products for it, and work with its codes."""

from decimal import Decimal

import pytest
from playwright.sync_api import Page, expect

from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop, User
from apps.core.tenancy.scope import shop_scope
from apps.discounts.domain.price_rules import get_ids
from apps.discounts.models import DiscountCode, PriceRule
from tests.support.browser.click_counter import InputCounter
from tests.support.browser.pages import BrowserPage, Open
from tests.support.factories.catalog import make_product
from tests.support.factories.customers import make_customer
from tests.support.factories.discounts import make_code, make_rule
from tests.support.factories.orders import make_order

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LIST, ADD, CHANGE, CODES, ADD_CODES, USES = (
    f"discounts_pricerule_{name}" for name in ("changelist", "add", "change", "codes", "add_codes", "uses")
)
MOST_CLICKS = 12


def create_discount(page: Page, hands: InputCounter, has_scripts: bool) -> None:
    """Create ten percent off a product with a generated code, a minimum and two limits, from the list on."""
    hands.click(page.get_by_role("link", name="Add discount").last)
    hands.click(page.get_by_role("button", name="Generate"))
    expect(page.get_by_label("Code", exact=True)).not_to_have_value("")
    hands.click(page.get_by_role("textbox", name="Percentage"))
    hands.type("10")
    hands.click(page.get_by_role("radio", name="Selected products and collections"))
    hands.click(page.get_by_role("textbox", name="Search: Products"))
    hands.type("mug")
    hands.press("Enter")
    mug = page.get_by_role("checkbox", name="Blue mug")
    if has_scripts:
        expect(mug).to_be_checked()
    else:
        hands.click(mug)
    hands.click(page.get_by_label("Minimum amount (USD)"))
    hands.type("50")
    hands.click(page.get_by_label("Total uses of each code"))
    hands.type("100")
    hands.click(page.get_by_role("checkbox", name="Once per customer"))
    hands.click(page.get_by_role("button", name="Save discount"))
    expect(page.get_by_text("10% off selected products, minimum 50.00 USD, once per customer")).to_be_visible()


def check_created(shop: Shop) -> None:
    with shop_scope(shop):
        rule = PriceRule.objects.get()
        assert (rule.value, rule.prerequisite_subtotal, rule.usage_limit) == (Decimal(-10), Decimal(50), 100)
        assert rule.once_per_customer
        assert len(get_ids(rule)["entitled_product_ids"]) == 1
        assert rule.codes.get().code == rule.title


@pytest.mark.parametrize("has_scripts", [True, False])
def test_a_discount_takes_a_dozen_clicks(
    logged_in_page: Open, owner: User, committed_shop: Shop, has_scripts: bool
) -> None:
    with shop_scope(committed_shop):
        make_product("Blue mug")
    window = logged_in_page(owner, committed_shop, java_script_enabled=has_scripts)
    page = window.go(LIST)
    hands = InputCounter(page)

    create_discount(page, hands, has_scripts)

    assert (hands.clicks, hands.keys) == (9 if has_scripts else 10, 1)
    assert hands.clicks + hands.keys <= MOST_CLICKS
    check_created(committed_shop)
    assert window.problems == []


def test_an_opened_picker_shows_the_first_products_and_filters_them(window: BrowserPage, committed_shop: Shop) -> None:
    with shop_scope(committed_shop):
        for title in ("Blue mug", "Chair", "Green tea"):
            make_product(title)
    page = window.go(ADD)
    page.get_by_role("radio", name="Selected products and collections").check()
    search = page.get_by_role("textbox", name="Search: Products")
    tea = page.get_by_role("checkbox", name="Green tea")

    search.click()
    expect(tea).to_be_visible()
    search.press_sequentially("cha")
    expect(tea).to_have_count(0)
    search.press("Enter")
    expect(page.get_by_role("checkbox", name="Chair")).to_be_checked()
    expect(search).to_have_value("")
    expect(tea).not_to_be_checked()
    search.press("Enter")
    assert page.url.endswith("/add/")


def test_a_picker_says_that_a_search_failed(window: BrowserPage) -> None:
    page = window.go(ADD)
    page.get_by_role("radio", name="Selected products and collections").check()
    page.route("**/pricerule/**", lambda route: route.abort())

    page.get_by_role("textbox", name="Search: Products").fill("mug")

    expect(page.get_by_text("The page could not be updated.")).to_be_visible()
    # The browser reports the requests that the test refused.
    window.problems.clear()


def test_fields_of_other_types_are_hidden(window: BrowserPage) -> None:
    page = window.go(ADD)
    percentage, amount = page.get_by_role("textbox", name="Percentage"), page.get_by_label("Amount (USD)", exact=True)
    products = page.get_by_role("textbox", name="Search: Products")

    expect(percentage).to_be_visible()
    expect(amount).to_be_hidden()
    expect(products).to_have_count(0)
    page.get_by_role("radio", name="Fixed amount").check()
    expect(percentage).to_be_hidden()
    expect(amount).to_be_visible()
    page.get_by_role("radio", name="Free shipping").check()
    expect(amount).to_be_hidden()
    expect(page.get_by_label("Maximum shipping price (USD)")).to_be_visible()
    expect(page.get_by_role("radio", name="The whole order")).to_be_hidden()
    page.get_by_role("radio", name="Buy X, get Y").check()
    expect(products).to_have_count(2)
    expect(page.get_by_label("Quantity to buy")).to_be_visible()


def test_codes_are_created_in_the_background_copied_and_ended(
    logged_in_page: Open, owner: User, committed_shop: Shop
) -> None:
    with shop_scope(committed_shop):
        rule = make_code("SUMMER").rule
    window = logged_in_page(owner, committed_shop, permissions=["clipboard-read", "clipboard-write"])
    page = window.go(CHANGE, rule.pk)
    page.get_by_role("button", name="Copy code: SUMMER").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "SUMMER"

    page.get_by_role("link", name="Add codes…").click()
    page.get_by_label("Number of codes").fill("3")
    page.get_by_label("Prefix").fill("VIP-")
    page.get_by_role("button", name="Create codes").click()
    expect(page.get_by_text("Creating codes. This page updates automatically.")).to_be_visible()
    with shop_scope(committed_shop):
        queue.run_job(Job.objects.get(task="discounts.create_codes").key)
    expect(page.get_by_role("textbox", name="Code VIP-")).to_have_count(3)
    with shop_scope(committed_shop):
        assert DiscountCode.objects.filter(rule=rule).count() == 4

    page = window.go(CHANGE, rule.pk)
    page.get_by_role("button", name="End now").click()
    expect(page.get_by_text("Expired").first).to_be_visible()
    assert window.problems == []


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("language", ["en-US", "de-DE"])
def test_the_pages_are_accessible_and_cut_nothing_off(
    logged_in_page: Open, owner: User, committed_shop: Shop, width: int, language: str
) -> None:
    with shop_scope(committed_shop):
        product, customer = make_product("Blue mug"), make_customer(first_name="Ada", last_name="Lovelace")
        rule = make_rule(
            title="Regular customers in summer",
            target_selection="entitled",
            entitled_product_ids=[product.pk],
            customer_selection="prerequisite",
            prerequisite_customer_ids=[customer.pk],
            usage_limit=100,
        )
        make_code("SUMMER-FOR-REGULAR-CUSTOMERS", rule)
        codes = [{"code": "SUMMER-FOR-REGULAR-CUSTOMERS", "amount": Decimal(2), "type": "fixed_amount"}]
        order = make_order(codes=codes, customer={"id": customer.pk})
    window = logged_in_page(owner, committed_shop, viewport={"width": width, "height": 900}, locale=language)
    paths: list[tuple[str, tuple[object, ...]]] = [
        (LIST, ()),
        (ADD, ()),
        *((name, (rule.pk,)) for name in (CHANGE, CODES, ADD_CODES, USES)),
        ("orders_order_change", (order.pk,)),
    ]

    problems: list[tuple[object, ...]] = []
    for name, args in paths:
        window.go(name, *args)
        problems += [(name, *problem) for problem in window.barriers()]
        # The views of a list scroll on phones.
        problems += [(name, text) for text in window.cut_texts() if name != LIST]

    assert problems == []
    assert window.problems == []
