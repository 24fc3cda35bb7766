"""Several taxes on one price: each rate applies to the net price, the price without all of these taxes."""

from decimal import Decimal

import pytest
from django.utils import timezone

from apps.core.tenancy.models import Shop
from apps.orders.domain import edit_lines
from apps.orders.domain.edit_lines import LineEdit, OrderEdit
from apps.orders.models import Order
from tests.support.api_client import ApiClient
from tests.support.factories.orders import make_order
from tests.support.types import JsonObject

pytestmark = pytest.mark.usefixtures("in_shop")

GST, QST = ({"title": title, "rate": rate} for title, rate in (("GST", "0.05"), ("QST", "0.09975")))
OTHER_GST = {"title": "State", "rate": "0.05"}


def create_order(api: ApiClient, **values: object) -> JsonObject:
    response = api.post("orders.json", {"order": {"taxes_included": True, **values}})
    assert response.status_code == 201, response.json()
    return response.json()["order"]


def get_prices(row: JsonObject) -> list[object]:
    return [tax["price"] for tax in row["tax_lines"]]


@pytest.mark.parametrize(
    ("price", "taxes", "expected"),
    [
        ("110.00", [GST, OTHER_GST], ["5.00", "5.00"]),
        ("114.98", [GST, QST], ["5.00", "9.98"]),
        ("110.00", [{**GST, "price": "5.00"}, OTHER_GST], ["5.00", "5.00"]),
        ("110.00", [{"title": "Eco fee", "price": "5.00"}, GST], ["5.00", "5.00"]),
        ("105.00", [GST], ["5.00"]),
    ],
)
def test_the_net_price_is_the_price_without_all_taxes(
    api: ApiClient, price: str, taxes: list[JsonObject], expected: list[str]
) -> None:
    item = {"title": "Mug", "price": price, "quantity": 1}
    own = create_order(api, line_items=[{**item, "tax_lines": taxes}])
    shared = create_order(api, line_items=[item], tax_lines=taxes)
    free = [{"title": "Mug", "price": "0.00", "quantity": 1}]
    of_shipping = create_order(
        api, line_items=free, shipping_lines=[{"title": "Post", "price": price, "tax_lines": taxes}]
    )
    duty = {"shop_money": {"amount": price}, "tax_lines": taxes}
    of_duty = create_order(api, line_items=[{**item, "price": "0.00", "duties": [duty]}])

    rows = own["line_items"][0], shared["line_items"][0], shared, of_shipping["shipping_lines"][0], of_duty
    assert [get_prices(row) for row in rows] == [expected] * len(rows)
    total = f"{sum(map(Decimal, expected)):.2f}"
    assert [order["total_tax"] for order in (own, shared, of_shipping, of_duty)] == [total] * 4
    assert own["total_price"] == price


def test_taxes_that_are_added_do_not_depend_on_each_other(api: ApiClient) -> None:
    item = {"title": "Mug", "price": "100.00", "quantity": 1, "tax_lines": [GST, QST]}

    order = create_order(api, taxes_included=False, line_items=[item])

    assert (get_prices(order["line_items"][0]), order["total_price"]) == (["5.00", "9.98"], "114.98")


def test_edits_calculate_several_included_taxes_from_the_net_price(shop: Shop) -> None:
    taxes = [{"title": title, "rate": Decimal("0.05"), "price": None} for title in ("GST", "State")]
    line = {"title": "Mug", "price": Decimal("110.00"), "quantity": 1, "tax_lines": taxes}
    order = make_order(shop, lines=[line], taxes_included=True)
    pk = order.line_items.get().pk

    def edit(*new_lines: JsonObject, **changes: object) -> list[str]:
        edits = {pk: LineEdit(**changes)} if changes else {}  # type: ignore[arg-type]
        edit_lines.edit_lines(order, OrderEdit(edits, new_lines), actor="staff:1", at=timezone.now())
        return [tax["price"] for tax in Order.objects.get(pk=order.pk).tax_lines]

    assert edit(discount=Decimal("55.00")) == ["2.50", "2.50"]
    assert edit(quantity=2) == ["7.50", "7.50"]
    assert edit({"title": "Bowl", "price": Decimal("22.00"), "quantity": 1}) == ["8.50", "8.50"]


def test_given_taxes_change_with_the_price(shop: Shop) -> None:
    """A compound tax applies to the price with the other tax, so an app sends its amount."""
    taxes = [
        {"title": "GST", "rate": Decimal("0.05"), "price": Decimal("5.00")},
        {"title": "QST", "rate": Decimal("0.095"), "price": Decimal("9.98")},
    ]
    line = {"title": "Mug", "price": Decimal("114.98"), "quantity": 1, "tax_lines": taxes}
    order = make_order(shop, lines=[line], taxes_included=True)
    changes = {order.line_items.get().pk: LineEdit(discount=Decimal("57.49"))}

    edit_lines.edit_lines(order, OrderEdit(changes), actor="staff:1", at=timezone.now())

    assert [tax["price"] for tax in Order.objects.get(pk=order.pk).tax_lines] == ["2.50", "4.99"]
