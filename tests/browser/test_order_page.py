from decimal import Decimal

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.core.tenancy.models import Shop, User
from apps.core.tenancy.scope import shop_scope
from apps.fulfillment.models import Fulfillment, FulfillmentOrder
from apps.orders.domain import updates
from apps.orders.models import Order
from apps.refunds.models import Refund
from tests.support.browser.click_counter import InputCounter
from tests.support.browser.pages import BrowserPage, Open
from tests.support.factories.fulfillment import make_fulfillment, make_fulfillment_order
from tests.support.factories.orders import MUG

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ADDRESS = {"first_name": "Ada", "last_name": "Lovelace", "address1": "1 Main Street", "city": "Ottawa"}
TOP = "element => element.getBoundingClientRect().top"


@pytest.fixture
def row(committed_shop: Shop) -> FulfillmentOrder:
    with shop_scope(committed_shop):
        return make_fulfillment_order(
            lines=[{**MUG, "quantity": 3}],
            transactions=[{"kind": "sale", "amount": Decimal("30.00")}],
            email="ada@example.com",
            note="Ring twice",
            shipping_address=ADDRESS,
        )


def test_fulfilling_items_takes_4_keys_from_the_top_of_the_page(window: BrowserPage, row: FulfillmentOrder) -> None:
    page = window.go("orders_order_change", row.order_id)
    hands = InputCounter(page)
    step = page.get_by_role("link", name="Fulfill items…")

    hands.press("Tab")
    hands.press("Enter")
    while not step.evaluate("link => link === document.activeElement"):
        assert hands.keys < 6
        hands.press("Tab")
    hands.press("Enter")
    page.wait_for_url("**/fulfill/")

    assert hands.keys == 4  # The limit is 6.


def test_a_part_is_fulfilled_in_4_clicks(window: BrowserPage, row: FulfillmentOrder) -> None:
    page = window.go("orders_order_changelist")
    hands = InputCounter(page)

    hands.click(page.get_by_role("link", name=row.order.name, exact=True))
    hands.click(page.get_by_role("link", name="Fulfill items…"))
    hands.click(page.get_by_label("Quantity of Mug"))
    hands.press("Control+a")
    hands.type("1")
    hands.click(page.get_by_role("button", name="Fulfill from"))
    page.wait_for_url("**/change/**")

    assert hands.clicks == 4  # The limit is 4.
    assert Fulfillment.objects.get().lines.get().quantity == 1


def test_a_tracking_number_is_corrected_in_3_clicks(window: BrowserPage, row: FulfillmentOrder) -> None:
    with shop_scope(window.shop):
        make_fulfillment(row)
    page = window.go("orders_order_change", row.order_id)
    hands = InputCounter(page)

    hands.click(page.get_by_role("link", name="Update tracking…"))
    hands.click(page.get_by_label("Tracking number").first)
    hands.press("Control+a")
    hands.type("1Z999AA10123456784")
    hands.click(page.get_by_role("button", name="Update tracking"))
    page.wait_for_url("**/change/**")

    assert hands.clicks == 3  # The limit is 3.
    assert Fulfillment.objects.get().tracking_numbers == ["1Z999AA10123456784"]


def test_a_refund_takes_5_clicks(window: BrowserPage, row: FulfillmentOrder) -> None:
    page = window.go("orders_order_changelist")
    hands = InputCounter(page)

    hands.click(page.get_by_role("link", name=row.order.name, exact=True))
    hands.click(page.get_by_role("link", name="Refund…"))
    hands.click(page.get_by_label("Quantity of Mug"))
    hands.press("Control+a")
    hands.type("1")
    hands.click(page.get_by_role("button", name="Review"))
    hands.click(page.get_by_role("button", name="Refund 10.00 USD"))
    page.wait_for_url("**/change/")

    assert hands.clicks == 5  # The limit is 5.
    assert Refund.objects.count() == 1


def test_the_menu_works_by_keyboard(window: BrowserPage, row: FulfillmentOrder) -> None:
    page = window.go("orders_order_change", row.order_id)
    more = page.locator("summary", has_text="More")
    edit = page.get_by_role("link", name="Edit…", exact=True)

    expect(edit).to_be_hidden()
    more.press("Enter")
    expect(edit).to_be_visible()
    edit.press("Escape")
    expect(edit).to_be_hidden()
    expect(more).to_be_focused()
    more.press("Enter")
    page.get_by_role("button", name="Close order").press("Enter")
    expect(page.get_by_text("The order was closed.")).to_be_visible()

    assert Order.objects.get().status == "closed"
    assert window.problems == []


def test_the_menu_works_without_javascript(
    logged_in_page: Open, committed_shop: Shop, owner: User, row: FulfillmentOrder
) -> None:
    page = logged_in_page(owner, committed_shop, java_script_enabled=False).go("orders_order_change", row.order_id)

    page.locator("summary", has_text="More").press("Enter")
    page.get_by_role("link", name="Edit…", exact=True).press("Enter")

    expect(page.get_by_label("Note", exact=True)).to_have_value("Ring twice")


@pytest.mark.parametrize(("width", "is_beside"), [(1400, True), (1000, True), (700, False), (390, False)])
def test_narrow_windows_show_one_column_with_the_next_step_first(
    window: BrowserPage, row: FulfillmentOrder, width: int, is_beside: bool, axe: None
) -> None:
    with shop_scope(window.shop):
        updates.add_comment(row.order, text="Called", actor="system", at=timezone.now())
    page = window.go("orders_order_change", row.order_id)
    page.set_viewport_size({"width": width, "height": 844})

    names = ("Items", "Payment", "Fulfillment orders", "Timeline", "Customer", "Shipping", "Notes and tags")
    tops = [page.get_by_role("region", name=name, exact=True).evaluate(TOP) for name in names]
    step = page.get_by_role("link", name="Fulfill items…").evaluate(TOP)

    main, side = tops[:4], tops[4:]
    assert (main, side) == (sorted(main), sorted(side))
    assert step < main[0]
    assert (side[0] == main[0]) is is_beside
    assert (side[0] > main[-1]) is not is_beside
    page.locator("summary", has_text="More").click()
    assert window.barriers() == []


def test_all_actions_fit_on_a_phone_with_large_text(window: BrowserPage, owner: User, row: FulfillmentOrder) -> None:
    User.objects.filter(pk=owner.pk).update(language="de")
    page = window.go("orders_order_change", row.order_id)
    # A zoom of 200 % in a window of 780 pixels leaves 390 pixels.
    page.set_viewport_size({"width": 390, "height": 422})

    page.locator("summary", has_text="Mehr").click()
    for link in page.locator(".bo-drop-menu li").all():
        box = link.bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390

    assert window.sideways() <= 0
