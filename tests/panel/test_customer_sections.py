"""The draft orders, used discount codes and gift cards on the customer page."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.models import Customer
from apps.discounts.domain.uses import record_uses
from tests.support import factories
from tests.support.factories.customers import make_customer
from tests.support.factories.discounts import make_code
from tests.support.factories.draft_orders import make_draft_order
from tests.support.factories.gift_cards import make_gift_card
from tests.support.factories.orders import make_order
from tests.support.panel.client import Panel, PanelWith

pytestmark = pytest.mark.usefixtures("in_shop")

PAGE = "customers_customer_change"


@pytest.fixture
def customer() -> Customer:
    return make_customer(email="ada@example.com")


def fill(customer: Customer) -> None:
    """Create a draft order, a used code and a gift card of a customer."""
    make_draft_order(customer_id=customer.pk)
    code = make_code()
    record_uses(make_order(customer={"id": customer.pk}), [code.code], enforce=True, at=timezone.now())
    make_gift_card("40.00", customer_id=customer.pk)


def read_page(panel: Panel, customer: Customer) -> str:
    return str(panel.get(PAGE, customer.pk).content.decode())


def test_the_page_shows_what_the_permissions_allow(
    admin_client_with: PanelWith, customer: Customer, shop: Shop
) -> None:
    fill(customer)
    stranger = make_customer(email="bo@example.com")
    make_draft_order(customer_id=stranger.pk)
    with shop_scope(factories.make_shop()):
        make_code("FOREIGN")

    everything = read_page(
        admin_client_with("customers", "orders", "draft_orders", "marketing", "gift_cards"), customer
    )
    nothing = read_page(admin_client_with("customers"), customer)
    without_orders = read_page(admin_client_with("customers", "marketing"), customer)

    assert "/draft_orders/draftorder/" in everything
    assert all(text in everything for text in ("40.00 USD", "SUMMER1", "#1001", "#D1"))
    assert "#D2" not in everything
    assert not any(text in nothing for text in ("40.00 USD", "SUMMER1", "#D1"))
    assert "SUMMER1" in without_orders
    cell = without_orders.partition("field-order_link")[2].partition("</td>")[0]
    assert "–</div>" in cell
    assert "/orders/order/" not in without_orders


def test_latest_orders_are_shown_to_staff_who_may_view_orders(admin_client_with: PanelWith, customer: Customer) -> None:
    order = make_order(customer={"id": customer.pk})

    pages = [read_page(admin_client_with(*words), customer) for words in (("customers",), ("customers", "orders"))]

    assert [order.name in page for page in pages] == [False, True]


def test_more_rows_need_no_more_queries(admin_client_with: PanelWith, customer: Customer) -> None:
    panel = admin_client_with("customers", "orders", "draft_orders", "marketing", "gift_cards")
    fill(customer)
    read_page(panel, customer)
    with CaptureQueriesContext(connection) as few:
        read_page(panel, customer)
    for _ in range(4):
        fill(customer)

    with CaptureQueriesContext(connection) as many:
        read_page(panel, customer)

    assert len(many) == len(few)


def test_the_latest_five_orders_are_shown_with_total_and_status(
    admin_client_with: PanelWith, customer: Customer
) -> None:
    for _number in range(6):
        make_order(customer={"id": customer.pk}, financial_status="paid")

    page = admin_client_with("customers", "orders").get(PAGE, customer.pk)
    (section,) = [part for template, part in page.context["sections"] if "orders" in part]

    assert [str(order["row"]) for order in section["orders"]] == ["#1006", "#1005", "#1004", "#1003", "#1002"]
    assert {order["total"] for order in section["orders"]} == {"20.00 USD"}
    assert admin_client_with("customers").get(PAGE, customer.pk).context["sections"] == []
