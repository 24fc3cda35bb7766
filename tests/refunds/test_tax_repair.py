"""Refunds without taxes by rate, as processes of the last release save them, are found and completed."""

from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from apps.core.tenancy import read_only
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.orders.domain import edit_lines
from apps.orders.domain.edit_lines import LineEdit, OrderEdit
from apps.orders.models import LineItem, Order
from apps.refunds.models import Refund, RefundDuty, RefundLineItem, RefundShippingLine
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.types import JsonObject

pytestmark = pytest.mark.usefixtures("in_shop")

GST, QST, ZERO_RATE = (
    {"title": title, "rate": rate} for title, rate in (("GST", "0.05"), ("QST", "0.09975"), ("Zero", "0"))
)
DUTY = {"shop_money": {"amount": "3.33"}, "tax_lines": [GST, QST]}
LINE: JsonObject = {
    "title": "Mug",
    "price": "9.99",
    "quantity": 4,
    "tax_lines": [GST, QST, ZERO_RATE],
    "duties": [DUTY, {**DUTY, "shop_money": {"amount": "7.77"}}],
}
ORDER: JsonObject = {
    "currency": "CAD",
    "financial_status": "paid",
    "line_items": [LINE, {"title": "Pen", "price": "0.07", "quantity": 3, "tax_lines": [QST, GST]}],
    "shipping_lines": [{"title": "Post", "price": "7.77", "tax_lines": [GST, QST]}],
}
IN_DOLLARS = {"presentment_currency": "USD", "exchange_rate": "0.7311"}


def create_order(api: ApiClient, **values: object) -> JsonObject:
    response = api.post("orders.json", {"order": {**ORDER, **values}})
    assert response.status_code == 201, response.json()
    return dict(response.json()["order"])


def refund_part(api: ApiClient, order: JsonObject, number: int) -> None:
    mug, pen = order["line_items"]
    first, second = (duty["id"] for duty in mug["duties"])
    bodies: list[JsonObject] = [
        {"refund_line_items": [{"line_item_id": mug["id"], "quantity": 1}, {"line_item_id": pen["id"], "quantity": 2}]},
        {
            "refund_line_items": [{"line_item_id": mug["id"], "quantity": 2}],
            "refund_duties": [{"duty_id": first, "refund_type": "PROPORTIONAL"}],
            "shipping": {"amount": "2.50"},
        },
        {"refund_duties": [{"duty_id": duty, "refund_type": "FULL"} for duty in (first, second)]},
        {
            "refund_line_items": [{"line_item_id": line["id"], "quantity": 1} for line in (pen, mug)],
            "shipping": {"full_refund": True},
        },
    ]
    response = api.post(f"orders/{order['id']}/refunds.json", {"refund": {"currency": "CAD", **bodies[number]}})
    assert response.status_code == 201, response.json()


def forget_taxes(*refunds: Refund) -> None:
    """Change refunds and their orders to what the last release saved."""
    for model in (RefundLineItem, RefundShippingLine, RefundDuty):
        model.objects.filter(refund__in=refunds).update(tax_lines=[])
    Refund.objects.filter(pk__in=[refund.pk for refund in refunds]).update(tax_lines=[])
    duties = {row.duty_id for row in RefundDuty.objects.filter(refund__in=refunds)}
    for line in LineItem.objects.all():
        line.duties = [
            {name: duty[name] for name in duty if name != "refunded_tax" or duty["id"] not in duties}
            for duty in line.duties
        ]
        line.save()
    for order in Order.objects.filter(refunds__in=refunds).distinct():
        order.current_tax_lines = None
        order.save(update_fields=["current_tax_lines"])


def get_state(api: ApiClient) -> list[object]:
    """Return everything about the taxes of all orders. Apps that poll orders notice the repair by ``updated_at``."""
    orders = list(Order.objects.order_by("pk").values_list("pk", flat=True))
    return [
        *({**api.get(f"orders/{pk}.json").json()["order"], "updated_at": None} for pk in orders),
        *(api.get(f"orders/{pk}/refunds.json").json() for pk in orders),
        *Order.objects.order_by("pk").values_list("current_tax_lines", flat=True),
        *([Decimal(duty.get("refunded_tax", 0)) for duty in line.duties] for line in LineItem.objects.order_by("pk")),
    ]


def check(*options: str) -> tuple[list[str], list[str]]:
    """Return the output and the differences of ``check_money``."""
    out, err = StringIO(), StringIO()
    try:
        call_command("check_money", *options, stdout=out, stderr=err)
    except CommandError:
        assert err.getvalue()
    return out.getvalue().splitlines(), err.getvalue().splitlines()


@pytest.mark.parametrize("currencies", [{}, IN_DOLLARS], ids=["one-currency", "two-currencies"])
@pytest.mark.parametrize("forgotten", [(0,), (3,), (1, 2), (0, 2), (0, 1, 2, 3)])
def test_missing_taxes_are_found_and_filled(
    api: ApiClient, shop: Shop, currencies: JsonObject, forgotten: tuple[int, ...]
) -> None:
    order, other = create_order(api, **currencies), create_order(api, **currencies)
    for number in range(4):
        refund_part(api, order, number)
    refund_part(api, other, 0)
    before, other_version = get_state(api), Order.objects.get(pk=other["id"]).version
    refunds = list(Refund.objects.filter(order=order["id"]).order_by("pk"))
    missing = [refunds[number] for number in forgotten]
    forget_taxes(*missing)
    old = Order.objects.get(pk=order["id"])

    _, found = check()
    output, after = check("--repair-taxes")
    again, _ = check("--repair-taxes")

    where = f"taxes by rate: shop {shop.pk}, order {order['id']}"
    assert [text.startswith((where, "order totals: ")) for text in found] == [True] * len(found)
    for row in missing:
        assert any(text.startswith(f"{where}: refund {row.pk} has no taxes by rate. Run ") for text in found)
    assert output[0] == f"shop {shop.pk}, order {order['id']}: filled in the taxes by rate"
    assert (after, len(again)) == ([], 1)
    assert get_state(api) == before
    new = Order.objects.get(pk=order["id"])
    assert (new.version != old.version, new.updated_at > old.updated_at) == (True, True)
    assert Order.objects.get(pk=other["id"]).version == other_version


def test_later_refunds_give_back_the_rest_of_repaired_taxes(api: ApiClient) -> None:
    order = create_order(api, **IN_DOLLARS)
    for number in range(3):
        refund_part(api, order, number)
        forget_taxes(*Refund.objects.order_by("-pk")[:1])
    check("--repair-taxes")
    refund_part(api, order, 3)

    prices: dict[tuple[str, str], list[float]] = {}
    for row in [order, *api.get(f"orders/{order['id']}/refunds.json").json()["refunds"]]:
        for tax in row["tax_lines"]:
            for side, money in tax["price_set"].items():
                prices.setdefault((tax["title"], side), []).append(round(float(money["amount"]) * 100))
    assert {key: amounts[0] - sum(amounts[1:]) for key, amounts in prices.items()} == dict.fromkeys(prices, 0)
    assert check()[1] == []


def test_taxes_of_edited_lines_add_up_after_the_repair(api: ApiClient) -> None:
    order = create_order(api)
    mug = order["line_items"][0]["id"]
    edit = OrderEdit({mug: LineEdit(2)})
    edit_lines.edit_lines(Order.objects.get(pk=order["id"]), edit, actor="system", at=timezone.now())
    body = {"currency": "CAD", "refund_line_items": [{"line_item_id": mug, "quantity": 1}]}
    for is_old in (True, False, True, False):
        assert api.post(f"orders/{order['id']}/refunds.json", {"refund": body}).status_code == 201
        if is_old:
            forget_taxes(*Refund.objects.order_by("-pk")[:1])

    assert check("--repair-taxes")[1] == []
    line = LineItem.objects.get(pk=mug)
    taxes = [tax for row in RefundLineItem.objects.all() for tax in row.tax_lines]
    for tax in line.tax_lines:
        cents = [round(float(row["price"]) * 100) for row in taxes if row["title"] == tax["title"]]
        assert (sum(cents), min(cents) >= 0) == (round(float(tax["price"]) * 100), True)


def test_edits_of_old_processes_are_completed(api: ApiClient) -> None:
    order = create_order(api)
    edit = OrderEdit({order["line_items"][0]["id"]: LineEdit(2)})
    edit_lines.edit_lines(Order.objects.get(pk=order["id"]), edit, actor="system", at=timezone.now())
    right = Order.objects.get().current_tax_lines
    row = Order.objects.get()
    row.current_tax_lines = None
    row.save(update_fields=["current_tax_lines"])

    _, found = check()
    _, after = check("--repair-taxes")

    assert any("the current taxes by rate are" in text for text in found)
    assert (after, Order.objects.get().current_tax_lines) == ([], right)


def test_a_read_only_shop_is_completed_when_it_becomes_writable(api: ApiClient, shop: Shop) -> None:
    order = create_order(api)
    for number in range(3):
        refund_part(api, order, number)
    before = get_state(api)
    forget_taxes(*Refund.objects.all())
    read_only.make_read_only(shop, at=timezone.now())

    assert check("--repair-taxes")[1] == []
    assert Refund.objects.filter(tax_lines=[]).count() == 3
    call_command("set_shop_read_only", shop.domain, "--off", stdout=StringIO())

    assert get_state(api) == before
    assert check()[1] == []


def test_other_shops_keep_their_rows(api: ApiClient, shop: Shop) -> None:
    other = factories.make_shop()
    refund_part(api, create_order(api), 0)
    forget_taxes(*Refund.objects.all())
    read_only.make_read_only(other, at=timezone.now())

    call_command("set_shop_read_only", other.domain, "--off", stdout=StringIO())

    with shop_scope(shop):
        assert Refund.objects.filter(tax_lines=[]).count() == 1
