"""The taxes of refunds by rate: in REST, for partial refunds in any order, and for refunds of earlier versions."""

from decimal import Decimal
from importlib import import_module
from itertools import pairwise, permutations

import pytest
from django.apps import apps
from django.utils import timezone

from apps.core.jobs import consistency_checks
from apps.core.money import split_first
from apps.core.tenancy.models import Shop
from apps.orders.domain import edit_lines
from apps.orders.domain.edit_lines import LineEdit, OrderEdit
from apps.orders.models import LineItem, Order
from apps.refunds.models import Refund, RefundDuty, RefundLineItem, RefundShippingLine
from tests.support.api_client import ApiClient
from tests.support.types import JsonObject

pytestmark = pytest.mark.usefixtures("in_shop")

GST, QST = ({"title": title, "rate": rate} for title, rate in (("GST", "0.05"), ("QST", "0.09975")))
ORDER: JsonObject = {
    "currency": "CAD",
    "presentment_currency": "USD",
    "exchange_rate": "0.7311",
    "line_items": [{"title": "Mug", "price": "9.99", "quantity": 3, "tax_lines": [GST, QST]}],
    "shipping_lines": [{"title": "Post", "price": "7.77", "tax_lines": [GST, QST]}],
}
DUTY = {"shop_money": {"amount": "3.33"}, "tax_lines": [QST]}


def create_order(api: ApiClient, **values: object) -> JsonObject:
    body = {**ORDER, "financial_status": "paid", **values}
    response = api.post("orders.json", {"order": body})
    assert response.status_code == 201, response.json()
    return response.json()["order"]


def refund(api: ApiClient, order: JsonObject, **body: object) -> JsonObject:
    response = api.post(f"orders/{order['id']}/refunds.json", {"refund": {"currency": "CAD", **body}})
    assert response.status_code == 201, response.json()
    return response.json()["refund"]


def get_taxes(row: JsonObject) -> dict[str, tuple[Decimal, Decimal]]:
    return {
        tax["title"]: (Decimal(tax["price"]), Decimal(tax["price_set"]["presentment_money"]["amount"]))
        for tax in row["tax_lines"]
    }


def add_up(rows: list[dict[str, tuple[Decimal, Decimal]]]) -> dict[str, tuple[Decimal, Decimal]]:
    sums: dict[str, tuple[Decimal, Decimal]] = {}
    for row in rows:
        for title, (price, converted) in row.items():
            before = sums.get(title, (Decimal(0), Decimal(0)))
            sums[title] = before[0] + price, before[1] + converted
    return sums


@pytest.mark.parametrize("order_of_parts", list(permutations(range(4))))
def test_parts_add_up_to_the_taxes_of_the_order(api: ApiClient, order_of_parts: tuple[int, ...]) -> None:
    order = create_order(api, line_items=[{**ORDER["line_items"][0], "duties": [DUTY]}])
    line = order["line_items"][0]
    parts: list[JsonObject] = [
        {"refund_line_items": [{"line_item_id": line["id"], "quantity": 1}]},
        {"refund_line_items": [{"line_item_id": line["id"], "quantity": 2}], "shipping": {"amount": "2.50"}},
        {"refund_duties": [{"duty_id": line["duties"][0]["id"], "refund_type": "FULL"}]},
        {"shipping": {"amount": "5.27"}},
    ]

    refunds = [refund(api, order, **parts[index]) for index in order_of_parts]

    assert add_up([get_taxes(row) for row in refunds if row["tax_lines"]]) == get_taxes(order)
    for row in refunds:
        adjustments = [part for part in row["order_adjustments"] if part["kind"] == "shipping_refund"]
        total = [Decimal(part["total_tax_set"]["presentment_money"]["amount"]) for part in row["refund_line_items"]]
        total += [Decimal(part["tax_amount_set"]["presentment_money"]["amount"]) for part in row["duties"]]
        total += [-Decimal(part["tax_amount_set"]["presentment_money"]["amount"]) for part in adjustments]
        assert sum(amount for _price, amount in get_taxes(row).values()) == sum(total)
    assert get_current_taxes(order) == {"GST": 0, "QST": 0}


def get_current_taxes(order: JsonObject) -> dict[str, Decimal]:
    row = Order.objects.get(pk=order["id"])
    taxes = row.tax_lines if row.current_tax_lines is None else row.current_tax_lines
    assert sum(Decimal(tax["price"]) for tax in taxes) == row.current_total_tax
    return {tax["title"]: Decimal(tax["price"]) for tax in taxes}


def test_a_partial_refund_has_the_taxes_of_its_parts(api: ApiClient) -> None:
    order = create_order(api, presentment_currency="CAD", exchange_rate=None)
    unit = {"line_item_id": order["line_items"][0]["id"], "quantity": 1}
    body = {"refund_line_items": [unit], "shipping": {"full_refund": True}}

    calculated = api.post(f"orders/{order['id']}/refunds/calculate.json", {"refund": body}).json()["refund"]
    created = refund(api, order, **body)

    prices = [[tax["price"] for tax in row["tax_lines"]] for row in (*created["refund_line_items"], created)]
    assert prices == [["0.50", "1.00"], ["0.89", "1.78"]]
    assert created["refund_line_items"][0]["total_tax"] == 1.5
    assert [tax["price"] for tax in created["refund_shipping_lines"][0]["tax_lines"]] == ["0.39", "0.78"]
    assert created["tax_lines"][0] == {
        "title": "GST",
        "rate": 0.05,
        "price": "0.89",
        "price_set": {key: {"amount": "0.89", "currency_code": "CAD"} for key in ("shop_money", "presentment_money")},
        "channel_liable": None,
    }
    assert calculated["tax_lines"] == created["tax_lines"]
    assert calculated["refund_line_items"][0]["tax_lines"] == created["refund_line_items"][0]["tax_lines"]
    order = api.get(f"orders/{order['id']}.json").json()["order"]
    assert order["refunds"][0]["tax_lines"] == created["tax_lines"]
    assert get_current_taxes(order) == {"GST": Decimal("1.00"), "QST": Decimal("1.99")}


def test_removed_items_have_the_taxes_that_are_left(api: ApiClient) -> None:
    order = create_order(api)
    line = order["line_items"][0]["id"]
    edit = OrderEdit({line: LineEdit(1)})
    edit_lines.edit_lines(Order.objects.get(pk=order["id"]), edit, actor="system", at=timezone.now())
    current = get_current_taxes(order)

    refunds = [refund(api, order, refund_line_items=[{"line_item_id": line, "quantity": 1}]) for _ in range(3)]
    refunds.append(refund(api, order, shipping={"full_refund": True}))

    assert current == {"GST": Decimal("0.89"), "QST": Decimal("1.78")}
    assert add_up([get_taxes(row) for row in refunds]) == get_taxes(order)
    assert get_current_taxes(order) == {"GST": 0, "QST": 0}


def test_an_order_canceled_with_restocking_has_no_taxes_left(api: ApiClient) -> None:
    order = create_order(api)

    assert api.post(f"orders/{order['id']}/cancel.json", {"restock": True}).status_code == 200

    assert get_current_taxes(order) == {"GST": 0, "QST": 0}


def test_the_migration_fills_earlier_refunds(api: ApiClient, shop: Shop) -> None:
    orders = [create_order(api, line_items=[{**ORDER["line_items"][0], "duties": [DUTY]}]) for _ in range(2)]
    line = orders[0]["line_items"][0]
    refund(api, orders[0], refund_line_items=[{"line_item_id": line["id"], "quantity": 1}])
    refund(api, orders[0], shipping={"amount": "2.50"})
    duty = {"duty_id": line["duties"][0]["id"], "refund_type": "FULL"}
    refund(api, orders[0], refund_line_items=[{"line_item_id": line["id"], "quantity": 1}], refund_duties=[duty])
    path = f"orders/{orders[0]['id']}/refunds.json"
    before, current = api.get(path).json(), get_current_taxes(orders[0])
    for model in (Refund, RefundLineItem, RefundShippingLine, RefundDuty):
        model.objects.update(tax_lines=[])
    for row in LineItem.objects.all():
        row.duties = [{name: duty[name] for name in duty if name != "refunded_tax"} for duty in row.duties]
        row.save()
    for order in Order.objects.all():
        order.current_tax_lines = None
        order.save(update_fields=["current_tax_lines"])
    versions = list(Order.objects.order_by("pk").values_list("version", flat=True))

    for read_only_at in (timezone.now(), None):
        Shop.objects.update(read_only_at=read_only_at)
        import_module("apps.refunds.migrations.0006_fill_tax_lines").fill_tax_lines(apps, None)
        is_filled = read_only_at is None
        assert Refund.objects.filter(tax_lines=[]).count() == (0 if is_filled else 3)

    assert (api.get(path).json(), get_current_taxes(orders[0])) == (before, current)
    after = list(Order.objects.order_by("pk").values_list("version", flat=True))
    assert [old != new for old, new in zip(versions, after, strict=True)] == [True, False]
    rest = refund(
        api, orders[0], refund_line_items=[{"line_item_id": line["id"], "quantity": 1}], shipping={"full_refund": True}
    )
    refunds = [get_taxes(row) for row in [*before["refunds"], rest]]
    assert add_up(refunds) == get_taxes(orders[0])


def test_checks_find_taxes_that_do_not_add_up(api: ApiClient, shop: Shop) -> None:
    order = create_order(api)
    created = refund(api, order, shipping={"full_refund": True})
    row = Refund.objects.get()
    names = {"order totals", "order refunds", "taxes by rate"}
    found = [list(consistency_checks.find_differences(names))]

    Refund.objects.update(tax_lines=[{**row.tax_lines[0], "price": "0.40"}, row.tax_lines[1]])
    Order.objects.update(current_tax_lines=None)
    found.append(list(consistency_checks.find_differences(names)))
    Shop.objects.update(read_only_at=timezone.now())
    found.append(list(consistency_checks.find_differences(names)))

    prefix = f"shop {shop.pk}, order {order['id']}: "
    clean, [totals, refunds, current], read_only = found
    assert (clean, read_only) == ([], [])
    assert totals.startswith(f"order totals: {prefix}current_tax_lines 'None', expected ")
    assert refunds.startswith(f"taxes by rate: {prefix}refund {created['id']} has taxes 1.18, expected 1.17. ")
    assert current.startswith(f"taxes by rate: {prefix}the current taxes by rate are 5.66, expected 4.49. ")


@pytest.mark.parametrize("parts", [[3, 5, 0, 11], [1, 1, 1], [0, 0, 2], [7], []])
def test_shares_never_decrease(parts: list[int]) -> None:
    prices = [Decimal(part) / 100 for part in parts]
    shares = [split_first(Decimal(cents) / 100, prices, "USD") for cents in range(sum(parts) + 1)]

    assert shares[-1] == prices
    assert [sum(row) * 100 for row in shares] == list(range(sum(parts) + 1))
    for row, next_row in pairwise(shares):
        assert all(amount <= more for amount, more in zip(row, next_row, strict=True))


def test_shares_have_the_decimals_of_the_currency() -> None:
    """The database returns amounts with three decimals, and the texts of equal taxes must be equal."""
    shares = split_first(Decimal("0.500"), [Decimal("1.00"), Decimal("0.00")], "USD")

    assert [str(share) for share in shares] == ["0.50", "0.00"]
