"""Tests for the locations that get the stock of items that leave an order."""

from typing import Any

import pytest
from django.utils import timezone

from apps.catalog.models import Variant
from apps.core.tenancy.models import Shop
from apps.fulfillment.models import FulfillmentOrder
from apps.inventory.models import InventoryLevel, Location
from apps.orders.domain import edit_lines
from apps.orders.domain.edit_lines import LineEdit, OrderEdit
from apps.orders.models import LineItem, Order
from apps.refunds.domain import restocking
from apps.refunds.models import RefundLineItem
from tests.support.api_client import ApiClient
from tests.support.factories.fulfillment import find_wrong_quantities, route_order_now
from tests.support.factories.inventory import get_first_location, make_location, set_stock
from tests.support.factories.orders import make_order, make_variant
from tests.support.types import Json, JsonObject

RestockType = RefundLineItem.RestockType


class TwoLocations:
    """An order of two items, one at each of two locations with 100 items each. The depot has the higher id."""

    def __init__(self, api: ApiClient, shop: Shop, behavior: str = "decrement_obeying_policy") -> None:
        self.api, self.store = api, get_first_location(shop)
        self.depot = make_location(shop, name="Depot")
        self.variant: Variant = make_variant(shop, stock=100)
        set_stock(self.variant.inventory_item, self.depot, 100)
        lines = [{"variant_id": self.variant.pk, "quantity": 2}]
        self.order: Order = make_order(shop, lines=lines, inventory_behaviour=behavior, transactions=[{"kind": "sale"}])
        (row,) = route_order_now(self.order)
        moved = self.move(row.pk, self.depot)
        self.move(moved, self.store, quantity=1)

    def post(self, path: str, body: object = None) -> Json:
        response = self.api.post(path, body)
        assert response.status_code in {200, 201}, response.content
        return response.json()

    def move(self, fulfillment_order: int, location: Location, quantity: int | None = None) -> int:
        lines = [
            {"id": line.pk, "quantity": quantity}
            for line in FulfillmentOrder.objects.get(pk=fulfillment_order).lines.all()
            if quantity
        ]
        body = {"fulfillment_order": {"new_location_id": location.pk, "fulfillment_order_line_items": lines}}
        moved = self.post(f"fulfillment_orders/{fulfillment_order}/move.json", body)["moved_fulfillment_order"]
        return int(moved["id"])

    def fulfill(self, location: Location) -> int:
        row = FulfillmentOrder.objects.get(assigned_location=location, status="open")
        body = {"fulfillment": {"line_items_by_fulfillment_order": [{"fulfillment_order_id": row.pk}]}}
        return int(self.post("fulfillments.json", body)["fulfillment"]["id"])

    def edit(self, quantity: int) -> None:
        order_edit = OrderEdit({LineItem.objects.get().pk: LineEdit(quantity)})
        edit_lines.edit_lines(self.order, order_edit, actor="staff:1", at=timezone.now())

    def refund(self, quantity: int, **values: Any) -> JsonObject:
        line: JsonObject = {"line_item_id": LineItem.objects.get().pk, "quantity": quantity}
        line |= {name: values.pop(name) for name in ("restock_type", "location_id") if name in values}
        refund: JsonObject = self.post(
            f"orders/{self.order.pk}/refunds.json", {"refund": {"refund_line_items": [line], **values}}
        )["refund"]
        return refund

    @property
    def stock(self) -> tuple[int, int]:
        """Return the available quantities at the store and at the depot."""
        assert find_wrong_quantities() == []
        levels = dict(InventoryLevel.objects.values_list("location_id", "available"))
        return levels[self.store.pk], levels[self.depot.pk]

    @property
    def waiting(self) -> tuple[int, int]:
        """Return the fulfillable quantities at the store and at the depot."""
        rows = FulfillmentOrder.objects.filter(lines__fulfillable_quantity__gt=0)
        waiting = dict(rows.values_list("assigned_location_id", "lines__fulfillable_quantity"))
        return waiting.get(self.store.pk, 0), waiting.get(self.depot.pk, 0)


@pytest.fixture
def goods(api: ApiClient, in_shop: Shop) -> TwoLocations:
    goods = TwoLocations(api, in_shop)
    assert (goods.stock, goods.waiting) == ((99, 99), (1, 1))
    return goods


def test_edited_out_items_go_back_to_the_location_of_their_fulfillment_order(goods: TwoLocations) -> None:
    goods.edit(1)

    assert (goods.stock, goods.waiting) == ((99, 100), (1, 0))


@pytest.mark.parametrize(("name", "stock", "waiting"), [("store", (100, 99), (0, 1)), ("depot", (99, 100), (1, 0))])
def test_canceled_items_leave_the_location_that_gets_the_stock(
    goods: TwoLocations, name: str, stock: tuple[int, int], waiting: tuple[int, int]
) -> None:
    goods.refund(1, restock_type="cancel", location_id=getattr(goods, name).pk)

    assert (goods.stock, goods.waiting) == (stock, waiting)


def test_returned_items_do_not_use_up_the_stock_of_waiting_items(goods: TwoLocations) -> None:
    goods.fulfill(goods.depot)

    goods.refund(1, restock_type="return", location_id=goods.store.pk)
    assert (goods.stock, goods.waiting) == ((100, 99), (1, 0))

    goods.edit(0)
    assert (goods.stock, goods.waiting) == ((101, 99), (0, 0))


def test_a_canceled_fulfillment_claims_the_stock_of_a_returned_item(goods: TwoLocations) -> None:
    from_store = goods.fulfill(goods.store)
    goods.fulfill(goods.depot)
    goods.refund(1, restock_type="return", location_id=goods.store.pk)

    goods.post(f"fulfillments/{from_store}/cancel.json")
    assert (goods.stock, goods.waiting) == ((100, 99), (1, 0))

    goods.edit(0)
    assert (goods.stock, goods.waiting) == ((101, 99), (0, 0))


def test_items_of_an_inactive_location_belong_to_the_primary_location(goods: TwoLocations) -> None:
    fulfillment = goods.fulfill(goods.depot)
    Location.objects.filter(pk=goods.depot.pk).update(active=False)

    goods.post(f"fulfillments/{fulfillment}/cancel.json")
    assert LineItem.objects.get().taken_from == {str(goods.store.pk): 2}

    goods.post(f"orders/{goods.order.pk}/cancel.json", {"restock": True})
    assert goods.stock == (101, 99)


def test_the_old_restock_gives_each_location_its_items_back(goods: TwoLocations) -> None:
    goods.fulfill(goods.depot)

    refund = goods.refund(2, restock=True)

    rows = {(row["restock_type"], row["location_id"], row["quantity"]) for row in refund["refund_line_items"]}
    assert rows == {("cancel", goods.store.pk, 1), ("return", goods.depot.pk, 1)}
    assert (goods.stock, goods.waiting) == ((100, 100), (0, 0))


@pytest.mark.parametrize("body", [{"restock": True}, {"restock": True, "amount": "20.00"}])
def test_a_canceled_order_gives_each_location_its_items_back(goods: TwoLocations, body: JsonObject) -> None:
    goods.post(f"orders/{goods.order.pk}/cancel.json", body)

    assert (goods.stock, goods.waiting) == ((100, 100), (0, 0))


def test_the_default_location_is_where_the_items_wait_or_were_sent_from(goods: TwoLocations) -> None:
    goods.fulfill(goods.depot)
    line = LineItem.objects.get()

    choices = restocking.get_restock_choices(goods.order, [line])

    defaults = {kind: rows[0].pk for (_line, kind), rows in choices.items()}
    assert defaults == {RestockType.CANCEL: goods.store.pk, RestockType.RETURN: goods.depot.pk}


@pytest.mark.parametrize("way", ["edit", "cancel", "cancel with refund", "refund cancel", "refund return", "restock"])
def test_items_that_took_nothing_from_stock_give_nothing_back(api: ApiClient, in_shop: Shop, way: str) -> None:
    goods = TwoLocations(api, in_shop, "bypass")
    if way == "refund return":
        goods.fulfill(goods.depot)
    ways: dict[str, Any] = {
        "edit": lambda: goods.edit(1),
        "cancel": lambda: goods.post(f"orders/{goods.order.pk}/cancel.json", {"restock": True}),
        "cancel with refund": lambda: goods.post(f"orders/{goods.order.pk}/cancel.json", {"amount": "20.00"}),
        "refund cancel": lambda: goods.refund(1, restock_type="cancel", location_id=goods.depot.pk),
        "refund return": lambda: goods.refund(1, restock_type="return", location_id=goods.depot.pk),
        "restock": lambda: goods.refund(1, restock=True),
    }

    ways[way]()

    assert goods.stock == (100, 100)


@pytest.mark.parametrize(("behavior", "available"), [("bypass", 200), ("decrement_obeying_policy", 195)])
def test_items_added_by_an_edit_take_stock_as_the_orders_behavior_says(
    api: ApiClient, in_shop: Shop, behavior: str, available: int
) -> None:
    goods = TwoLocations(api, in_shop, behavior)

    goods.edit(4)
    order_edit = OrderEdit(new_lines=[{"variant_id": goods.variant.pk, "quantity": 1}])
    edit_lines.edit_lines(goods.order, order_edit, actor="staff:1", at=timezone.now())

    assert sum(goods.stock) == available
