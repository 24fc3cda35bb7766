"""Items that are restocked without a location go back to the location that they were taken from."""

import pytest

from apps.core.jobs import consistency_checks
from apps.core.tenancy.models import Shop
from apps.fulfillment.models import FulfillmentOrder
from apps.orders.models import Order
from tests.support.api_client import ApiClient
from tests.support.factories.fulfillment import make_fulfillment, route_order_now
from tests.support.factories.inventory import get_available, get_first_location, make_location, set_stock
from tests.support.factories.orders import make_order, make_variant

pytestmark = pytest.mark.usefixtures("in_shop")


@pytest.fixture
def moved_order(api: ApiClient, shop: Shop) -> Order:
    """Create a paid order of two items that were moved to a location other than the primary one."""
    north, variant = make_location(shop, name="North"), make_variant(shop, stock=100)
    set_stock(variant.inventory_item, north, 100)
    lines, payment = [{"variant_id": variant.pk, "quantity": 2}], {"financial_status": "paid"}
    order = make_order(shop, lines=lines, inventory_behaviour="decrement_obeying_policy", **payment)
    row = route_order_now(order)[0]
    body = {"fulfillment_order": {"new_location_id": north.pk}}
    assert api.post(f"fulfillment_orders/{row.pk}/move.json", body).status_code == 200
    assert get_levels(order) == (100, 98)
    return order


def get_levels(order: Order) -> tuple[int, int]:
    variant, north = order.line_items.get().variant, FulfillmentOrder.objects.latest("pk").assigned_location
    assert variant is not None
    item = variant.inventory_item
    return get_available(item, get_first_location(order.shop)), get_available(item, north)


@pytest.mark.parametrize("is_sent", [False, True])
def test_refunded_items_go_back_to_the_location_they_were_taken_from(
    api: ApiClient, moved_order: Order, is_sent: bool
) -> None:
    if is_sent:
        make_fulfillment(FulfillmentOrder.objects.latest("pk"))
    units = [{"line_item_id": moved_order.line_items.get().pk, "quantity": 1}]

    response = api.post(
        f"orders/{moved_order.pk}/refunds.json", {"refund": {"restock": True, "refund_line_items": units}}
    )

    assert response.status_code == 201, response.content
    assert get_levels(moved_order) == (100, 99)
    assert list(consistency_checks.find_differences({"stock of orders", "stock of fulfillment orders"})) == []


def test_items_of_a_refunded_cancellation_go_back_to_their_location(api: ApiClient, moved_order: Order) -> None:
    response = api.post(f"orders/{moved_order.pk}/cancel.json", {"restock": True, "amount": "20.00", "currency": "USD"})

    assert response.status_code == 200, response.content
    assert get_levels(moved_order) == (100, 100)
