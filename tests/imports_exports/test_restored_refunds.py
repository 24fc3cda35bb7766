"""Refunds of exported orders are only imported if their amounts fit the order."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from apps.core.jobs import consistency_checks
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.orders.models import Order
from apps.refunds.models import Refund, RefundLineItem
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.files.import_export import export_text, import_text, to_json_lines
from tests.support.types import Json, JsonObject

pytestmark = pytest.mark.usefixtures("media_root")

GST, QST = ({"title": title, "rate": rate} for title, rate in (("GST", "0.05"), ("QST", "0.09975")))
ORDER: JsonObject = {
    "currency": "CAD",
    "presentment_currency": "USD",
    "exchange_rate": "0.7311",
    "line_items": [
        {
            "title": "Mug",
            "price": "9.99",
            "quantity": 3,
            "tax_lines": [GST, QST],
            "duties": [{"shop_money": {"amount": "3.33"}, "tax_lines": [QST]}],
        },
        {"title": "Pen", "price": "2.00", "quantity": 1},
    ],
    "shipping_lines": [{"title": "Post", "price": "7.77", "tax_lines": [GST, QST]}],
    "financial_status": "paid",
}


@pytest.fixture
def exported(shop: Shop, api: ApiClient) -> JsonObject:
    """Return an exported order with two refunds of items, duties and shipping."""
    response = api.post("orders.json", {"order": ORDER})
    assert response.status_code == 201, response.content
    order = response.json()["order"]
    mug = order["line_items"][0]
    for quantity in (1, 2):
        body: JsonObject = {
            "currency": "CAD",
            "refund_line_items": [{"line_item_id": mug["id"], "quantity": quantity}],
            "shipping": {"amount": "3.00"},
            "refund_duties": [{"duty_id": mug["duties"][0]["id"], "refund_type": "PROPORTIONAL"}],
        }
        path = f"orders/{order['id']}/refunds"
        suggested = api.post(f"{path}/calculate.json", {"refund": body}).json()["refund"]["transactions"]
        transactions = [{**row, "kind": "refund"} for row in suggested]
        created = api.post(f"{path}.json", {"refund": {**body, "transactions": transactions}})
        assert created.status_code == 201, created.content
    user = factories.make_member(shop, "export_orders")
    return dict(json.loads(export_text(shop, user, "orders", "jsonl"))["order"])


def change(value: Json, path: str, amount: object) -> None:
    """Change a value in a document. A callable gets the present amount."""
    *parents, last = [int(name) if name.isdigit() else name for name in path.split(".")]
    for name in parents:
        value = value[name]
    value[last] = str(amount(Decimal(value[last]))) if callable(amount) else amount


def add(amount: str) -> Callable[[Decimal], Decimal]:
    return lambda present: present + Decimal(amount)


ITEM, POST, DUTY = (f"refunds.0.{name}.0" for name in ("refund_line_items", "refund_shipping_lines", "duties"))
SHOP, BUYER = "shop_money.amount", "presentment_money.amount"


def test_correct_refunds_are_imported(
    other_shop: Shop, other_shop_api: ApiClient, exported: JsonObject, tmp_path: Path
) -> None:
    report = import_text(other_shop, to_json_lines({"order": exported}), tmp_path, "in.jsonl")

    assert report == "Done: 1 new, 0 changed, 0 skipped, 0 failed.\n"
    with shop_scope(other_shop):
        assert Refund.objects.count() == 2
    checks = {"order totals", "order payments", "order refunds", "refund amounts", "taxes by rate"}
    assert list(consistency_checks.find_differences(checks)) == []


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({f"{ITEM}.subtotal_set.{SHOP}": "9.991"}, f"{ITEM}.subtotal_set 9.991 is not an amount in CAD"),
        ({f"{ITEM}.subtotal_set.{SHOP}": "-1.00"}, f"{ITEM}.subtotal_set -1.00 is not an amount in CAD that is zero"),
        ({f"{ITEM}.total_tax_set.{BUYER}": "1.105"}, f"{ITEM}.total_tax_set 1.105 is not an amount in USD"),
        (
            {f"{ITEM}.subtotal_set.{SHOP}": "10.00"},
            f"{ITEM}.subtotal_set the refunds add up to 10.00 CAD, but at most 9.99 can be refunded",
        ),
        (
            {"refunds.1.refund_line_items.0.subtotal_set.presentment_money.amount": add("5")},
            "refunds.1.refund_line_items.0.subtotal_set the refunds add up to 26.92 USD, but at most",
        ),
        (
            {f"{ITEM}.total_tax_set.{SHOP}": add("0.01")},
            f"{ITEM}.tax_lines the taxes by rate add up to 1.50 CAD, but the refunded tax is 1.51",
        ),
        (
            {f"{ITEM}.tax_lines.0.price_set.{BUYER}": add("0.01")},
            f"{ITEM}.tax_lines the taxes by rate add up to 1.11 USD, but the refunded tax is 1.10",
        ),
        (
            {f"{ITEM}.total_tax_set.{SHOP}": add("5"), f"{ITEM}.tax_lines.0.price_set.{SHOP}": add("5")},
            f"{ITEM}.total_tax_set the refunds add up to 6.50 CAD, but at most 4.49 can be refunded",
        ),
        ({f"{ITEM}.tax_lines": []}, ""),
        ({"refunds.0.refund_line_items.0.tax_lines.0": None}, "tax_lines"),
        (
            {f"{POST}.subtotal_amount_set.{BUYER}": add("9")},
            "refund_shipping_lines.0.subtotal_amount_set the refunds add up to",
        ),
        (
            {f"{DUTY}.amount_set.{BUYER}": add("3")},
            "refunds.0.duties.0.amount_set the refunds add up to 3.81 USD, but at most 2.44 can be refunded",
        ),
        (
            {f"refunds.0.order_adjustments.0.tax_amount_set.{SHOP}": "-0.10"},
            "refunds.0.order_adjustments the adjustments for shipping add up to 0.10 CAD",
        ),
        (
            {f"refunds.0.order_adjustments.0.amount_set.{BUYER}": "-2.191"},
            "refunds.0.order_adjustments.0.amount_set -2.191 is not an amount in USD",
        ),
    ],
)
def test_amounts_that_do_not_fit_are_refused(
    other_shop: Shop, exported: JsonObject, tmp_path: Path, changes: JsonObject, reason: str
) -> None:
    for path, amount in changes.items():
        change(exported, path, amount)

    report = import_text(other_shop, to_json_lines({"order": exported}), tmp_path, "in.jsonl")

    with shop_scope(other_shop):
        saved = Order.objects.count(), RefundLineItem.objects.count()
    assert reason in report
    assert saved == ((0, 0) if reason else (1, 2)), report


def test_lists_of_other_lengths_are_refused(other_shop: Shop, exported: JsonObject, tmp_path: Path) -> None:
    del exported["refunds"][0]["refund_line_items"][0]["tax_lines"][0]

    report = import_text(other_shop, to_json_lines({"order": exported}), tmp_path, "in.jsonl")

    assert "refunds.0.refund_line_items.0.tax_lines must contain 2 taxes, like the taxes of the refunded row" in report


@pytest.mark.parametrize("count", [1, 2], ids=["alone", "in-bulk"])
def test_a_duty_and_a_transaction_are_refunded_once(
    other_shop: Shop, exported: JsonObject, tmp_path: Path, count: int
) -> None:
    first, second = exported["refunds"]
    duty = first["duties"][0]
    zero = {side: {**money, "amount": "0.00"} for side, money in duty["amount_set"].items()}
    first["duties"].append({**duty, "amount_set": zero, "tax_amount_set": zero, "tax_lines": []})
    second["transactions"] = first["transactions"]
    orders = [{"order": {**exported, "name": f"#{number}", "id": number}} for number in range(count)]

    report = import_text(other_shop, to_json_lines(*orders), tmp_path, "in.jsonl")

    assert report.count("refunds.0.duties.1.duty_id is listed twice in this refund") == count
    assert report.count("refunds.1.transactions.0 must be a refund that belongs to no other refund") == count
    assert f"0 new, 0 changed, 0 skipped, {count} failed" in report


def test_refunds_of_more_than_was_paid_are_refused(other_shop: Shop, exported: JsonObject, tmp_path: Path) -> None:
    sale, *refunds = exported["transactions"]
    for row in [*refunds, *(row for refund in exported["refunds"] for row in refund["transactions"])]:
        row["parent_id"] = None
    for row in (refunds[0], exported["refunds"][0]["transactions"][0]):
        row["amount"] = row["shop_amount"] = "100.00"
    exported["financial_status"] = "refunded"
    exported["total_outstanding"] = None

    report = import_text(other_shop, to_json_lines({"order": exported}), tmp_path, "in.jsonl")

    assert sale["kind"] == "sale"
    assert "transactions the refunds add up to " in report
    assert " CAD, but only 49.06 was paid" in report
