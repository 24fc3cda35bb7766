"""Exported orders in other shops: what is refused and why, and orders as the REST API shows them."""

import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest
from django.utils import timezone

from apps.core.jobs import consistency_checks
from apps.core.tenancy.models import Shop, User
from apps.core.tenancy.scope import shop_scope
from apps.fulfillment.domain.fulfillment_orders import routing
from apps.orders.domain import edit_lines
from apps.orders.domain.edit_lines import LineEdit, OrderEdit
from apps.orders.models import Order, Transaction
from apps.refunds.models import Refund
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.factories.inventory import make_location
from tests.support.files.import_export import export_text, import_text, to_json_lines
from tests.support.types import JsonObject

pytestmark = pytest.mark.usefixtures("media_root")

IMPORTED = "Done: 1 new, 0 changed, 0 skipped, 0 failed.\n"


@dataclass(frozen=True)
class Shops:
    """A shop that exports orders, and a shop that imports them."""

    api: ApiClient
    shop: Shop
    user: User
    other_api: ApiClient
    other: Shop
    path: Path

    def export(self, form: str = "jsonl") -> str:
        return export_text(self.shop, self.user, "orders", form)

    def import_text(self, text: str, name: str = "in.jsonl") -> str:
        return import_text(self.other, text, self.path, name)


@pytest.fixture
def shops(shop: Shop, api: ApiClient, other_shop: Shop, other_shop_api: ApiClient, tmp_path: Path) -> Shops:
    user = factories.make_member(shop, "export_orders")
    return Shops(api, shop, user, other_shop_api, other_shop, tmp_path)


def create_order(api: ApiClient, **fields: object) -> JsonObject:
    order = {"line_items": [{"title": "Mug", "price": "10.00", "quantity": 3}], "financial_status": "paid", **fields}
    response = api.post("orders.json", {"order": order})
    assert response.status_code == 201, response.content
    return response.json()["order"]


def refund_one(api: ApiClient, order: JsonObject, **row: object) -> None:
    rows = [{"line_item_id": order["line_items"][0]["id"], "quantity": 1, **row}]
    sale = api.get(f"orders/{order['id']}/transactions.json").json()["transactions"][0]
    transactions = [{"kind": "refund", "amount": "10.00", "parent_id": sale["id"], "gateway": sale["gateway"]}]
    body = {"refund": {"refund_line_items": rows, "transactions": transactions}}
    assert api.post(f"orders/{order['id']}/refunds.json", body).status_code == 201


def edit_order(shop: Shop, order: JsonObject, quantity: int) -> None:
    edit = OrderEdit({order["line_items"][0]["id"]: LineEdit(quantity)})
    with shop_scope(shop):
        edit_lines.edit_lines(Order(pk=order["id"]), edit, actor="staff:1", at=timezone.now())


def read_one(api: ApiClient) -> JsonObject:
    (order,) = api.get("orders.json", status="any").json()["orders"]
    return order


def test_an_edited_order_keeps_its_removed_item_and_credit(shops: Shops) -> None:
    edit_order(shops.shop, create_order(shops.api), 2)

    report = shops.import_text(shops.export())

    order = read_one(shops.other_api)
    assert report == IMPORTED
    assert (order["line_items"][0]["quantity"], order["line_items"][0]["current_quantity"]) == (3, 2)
    assert (order["current_total_price"], order["total_outstanding"]) == ("20.00", "-10.00")


@pytest.mark.parametrize("part", ["edits", "refunds", "fulfillments", "holds"])
def test_csv_rows_name_the_parts_that_they_do_not_contain(shops: Shops, part: str) -> None:
    order = create_order(shops.api)
    with shop_scope(shops.shop):
        (row,) = routing.route_order(order["id"], at=timezone.now())
    if part == "edits":
        edit_order(shops.shop, order, 2)
    elif part == "refunds":
        refund_one(shops.api, order, restock_type="no_restock")
    elif part == "holds":
        shops.api.post(f"fulfillment_orders/{row.pk}/hold.json", {"fulfillment_hold": {"reason": "other"}})
    else:
        body = {"fulfillment": {"line_items_by_fulfillment_order": [{"fulfillment_order_id": row.pk}]}}
        assert shops.api.post("fulfillments.json", body).status_code == 201
    text = shops.export("csv")

    refused = shops.import_text(text, "in.csv")
    accepted = shops.import_text(text.replace(f",{part},", ",,"), "again.csv")

    assert f"not_in_csv: {part} of this order can't be imported from CSV" in refused
    assert "or clear this cell to import the order without them" in refused
    assert refused.endswith("Done: 0 new, 0 changed, 0 skipped, 1 failed.\n")
    assert accepted == IMPORTED or part == "refunds"


def test_a_missing_location_is_named(shops: Shops) -> None:
    order = create_order(shops.api)
    north = make_location(shops.shop, name="North")
    refund_one(shops.api, order, restock_type="cancel", location_id=north.pk)
    text = shops.export()

    refused = shops.import_text(text)
    make_location(shops.other, name="north")
    accepted = shops.import_text(text)

    assert "the location “North” does not exist. Create a location with this name" in refused
    assert accepted == IMPORTED


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"current_total_price": "19.00"}, "current_total_price is 19.00 in the file, but would be 20.00"),
        ({"financial_status": "paid"}, "financial_status is paid in the file, but would be partially_refunded"),
        ({"total_price": "31.00"}, "total_price must be 30.00"),
        ({"line_items": []}, "line_items can't be blank"),
    ],
)
def test_exported_orders_are_restored_exactly_or_refused(shops: Shops, changes: JsonObject, reason: str) -> None:
    refund_one(shops.api, create_order(shops.api), restock_type="no_restock")
    order = json.loads(shops.export())["order"]

    report = shops.import_text(to_json_lines({"order": {**order, **changes}}))

    assert reason in report
    with shop_scope(shops.other):
        assert not Order.objects.exists()
        assert not Refund.objects.exists()


@pytest.mark.parametrize("name", ["current_quantity", "fulfillable_quantity", "fulfilled_quantity"])
def test_quantities_never_exceed_the_ordered_quantity(shops: Shops, name: str) -> None:
    create_order(shops.api)
    order = json.loads(shops.export())["order"]
    order["line_items"][0][name] = 4

    report = shops.import_text(to_json_lines({"order": order}))

    assert "line_items.0 the quantities exceed the ordered quantity" in report


def test_a_void_keeps_the_amount_that_it_released(shops: Shops) -> None:
    order = create_order(shops.api, financial_status="authorized")
    void = {"transaction": {"kind": "void"}}
    assert shops.api.post(f"orders/{order['id']}/transactions.json", void).status_code == 201

    assert shops.import_text(shops.export()) == IMPORTED

    for shop in (shops.shop, shops.other):
        with shop_scope(shop):
            row = Transaction.objects.get(kind="void")
            assert (row.amount, row.shop_amount) == (Decimal(30), Decimal(30))
    assert list(consistency_checks.find_differences({"order refunds"})) == []


def test_a_pending_refund_is_not_imported(shops: Shops) -> None:
    refund_one(shops.api, create_order(shops.api), restock_type="no_restock")
    order = json.loads(shops.export())["order"]
    for row in [*order["transactions"], *order["refunds"][0]["transactions"]]:
        row["status"] = "pending" if row["kind"] == "refund" else row["status"]

    report = shops.import_text(to_json_lines({"order": order}))

    assert "the refund is still being processed. Export the order again" in report


def test_orders_of_the_api_come_in_without_export_members(shops: Shops) -> None:
    order = create_order(
        shops.api,
        currency="JPY",
        presentment_currency="USD",
        exchange_rate="0.006694",
        line_items=[{"title": "Mug", "price": "3556", "quantity": 4, "tax_lines": [{"title": "VAT", "rate": "0.1"}]}],
        shipping_lines=[{"title": "Post", "price": "799"}],
    )
    with shop_scope(shops.shop):
        (row,) = routing.route_order(order["id"], at=timezone.now())
    body = {"fulfillment": {"line_items_by_fulfillment_order": [{"fulfillment_order_id": row.pk}]}}
    shops.api.post("fulfillments.json", body)
    shown = shops.api.get(f"orders/{order['id']}.json").json()["order"]
    assert "exchange_rate" not in shown

    report = shops.import_text(to_json_lines({"order": shown}))

    restored = read_one(shops.other_api)
    assert report == IMPORTED
    for name in ("total_price_set", "current_total_tax_set", "fulfillment_status", "financial_status"):
        assert restored[name] == shown[name]
    assert restored["fulfillments"][0]["line_items"][0]["quantity"] == 4
    assert restored["line_items"][0]["price_set"] == shown["line_items"][0]["price_set"]


def test_an_order_with_more_than_a_mebibyte_comes_in(shops: Shops) -> None:
    taxes = [{"title": f"Tax {index} {'x' * 200}", "rate": "0.01"} for index in range(5)]
    lines = [{"title": "x" * 255, "price": "1.00", "tax_lines": taxes} for _ in range(350)]
    create_order(shops.api, line_items=lines)
    text = shops.export()

    assert len(text) > 1024 * 1024
    assert shops.import_text(text) == IMPORTED
