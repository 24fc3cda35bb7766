"""Tests of duties in the panel's refunds: selection, calculation, review, refund and display."""

from decimal import Decimal
from typing import Any

import pytest

from apps.ground.tenancy import shop_scope
from apps.orders.models import Order
from apps.refunds.models import Refund
from apps.shops.models import Shop
from tests.orders.factories import make_order
from tests.panel.conftest import Panel, PanelWith
from tests.panel.shown import form_of
from tests.refunds.factories import money_agrees
from tests.refunds.pages import CALCULATION, NEW, confirmed, looked, opened, refunded, rows_of

PAGE = "orders_order_change"
ZERO = Decimal(0)


def duty(amount: str, tax: str = "", **details: str) -> dict[str, Any]:
    taxes = [{"title": "VAT", "rate": ZERO, "price": Decimal(tax)}] if tax else []
    return {"shop_money": {"amount": Decimal(amount)}, "tax_lines": taxes, **details}


CERAMICS = duty("10.00", "2.00", harmonized_system_code="6912.00", country_code_of_origin="PT")


@pytest.fixture
def panel(panel_with: PanelWith) -> Panel:
    return panel_with("orders", "refund_orders")


def paid(shop: Shop, *duties: dict[str, Any], **values: Any) -> Order:
    """Create a paid order of three mugs with duties and a card without."""
    lines = [
        {"title": "Mug", "price": Decimal("10.00"), "quantity": 3, "duties": list(duties)},
        {"title": "Card", "price": Decimal("1.00"), "quantity": 1},
    ]
    return make_order(shop, lines=lines, financial_status="paid", **values)


def keys_of(order: Order) -> tuple[str, list[str]]:
    """Return the field names of the mugs' quantities and duties."""
    with shop_scope(order.shop):
        line = order.line_items.get(title="Mug")
    return f"units-{line.pk}-unsent", [f"duty-{single_duty['id']}" for single_duty in line.duties]


def text(response: Any) -> str:
    return " ".join(response.content.decode().split())


def given(shop: Shop) -> list[list[tuple[Decimal, Decimal]]]:
    """Return the refunded duties of each refund, with their taxes."""
    with shop_scope(shop):
        refunds = Refund.objects.order_by("pk")
        return [list(refund.duties.order_by("pk").values_list("amount", "tax")) for refund in refunds]


def test_everything_has_the_duties_in_it(panel: Panel, shop: Shop) -> None:
    order = paid(shop, CERAMICS, duty("0.50"))
    _, keys = keys_of(order)
    _, (payment,) = rows_of(order)

    form = opened(panel, order, all="1")
    calculated = panel.http.post(panel.url(NEW, order.pk), {**form, "step": "calculate"})
    response = refunded(panel, order, form)

    assert [form[key] for key in keys] == [["full"], ["full"]]
    assert calculated.context["suggestions"] == [(payment, "43.50")]
    assert "Refunded: 43.50 USD." in text(response)
    assert "; duties 12.50 USD" in text(response)
    assert given(shop) == [[(Decimal("10.00"), Decimal("2.00")), (Decimal("0.50"), ZERO)]]
    with shop_scope(shop):
        after = Order.objects.get(pk=order.pk)
    assert (after.current_total_price, after.current_total_duties, after.outstanding) == (ZERO, ZERO, ZERO)
    assert money_agrees()


def test_a_share_goes_back_with_units_and_the_rest_without(panel: Panel, shop: Shop) -> None:
    order = paid(shop, CERAMICS)
    units, (key,) = keys_of(order)

    blank = opened(panel, order)
    response = panel.post(CALCULATION, order.pk, **{units: "1", key: "proportional"})
    look = looked(panel, order, {units: "1", key: "proportional"})
    first = confirmed(panel, order, look)
    form = text(panel.get(NEW, order.pk))
    rest = looked(panel, order, {key: "full"})
    last = confirmed(panel, order, rest)

    assert blank[key] == [""]
    assert dict(response.context["sums"]) == {
        "Subtotal": "10.00 USD",
        "Shipping": "0.00 USD",
        "Duties": "3.33 USD",
        "Tax": "0.67 USD",
        "Total": "14.00 USD",
    }
    reported_text = "4.00 USD of the duty on Mug (6912.00, from Portugal), including 0.67 USD tax."
    assert reported_text in text(look)
    assert "Refunded: 14.00 USD." in text(first)
    assert '8.00 USD <span class="bo-subtle">including 1.33 USD tax</span>' in form
    assert "8.00 USD of the duty on Mug (6912.00, from Portugal), including 1.33 USD" in text(rest)
    assert "Refunded: 8.00 USD." in text(last)
    assert given(shop) == [[(Decimal("3.33"), Decimal("0.67"))], [(Decimal("6.67"), Decimal("1.33"))]]
    assert 'id="duties"' not in text(panel.get(NEW, order.pk))
    assert money_agrees()


def test_duties_have_their_taxes_inside_where_prices_do(panel: Panel, shop: Shop) -> None:
    order = paid(shop, CERAMICS, taxes_included=True)
    _, (key,) = keys_of(order)

    form = text(panel.get(NEW, order.pk))
    look = looked(panel, order, {key: "full"})
    response = confirmed(panel, order, look)

    assert '10.00 USD <span class="bo-subtle">including 2.00 USD tax</span>' in form
    assert "10.00 USD of the duty on Mug (6912.00, from Portugal), including 2.00 USD tax." in text(look)
    assert "Refunded: 10.00 USD." in text(response)
    assert "duties 10.00 USD" in text(response)


def test_a_share_needs_units_and_is_offered_while_there_are_some(panel: Panel, shop: Shop) -> None:
    order = paid(shop, CERAMICS)
    units, (key,) = keys_of(order)
    reported_text = "Enter the quantity of the item to refund, or choose the full refundable amount."

    refused = looked(panel, order, {key: "proportional"})
    response = panel.post(CALCULATION, order.pk, **{key: "proportional"})
    unknown = looked(panel, order, {key: "half"})
    before = given(shop)
    refunded(panel, order, {units: "3"})
    form = panel.get(NEW, order.pk).context["form"]

    assert refused.context["form"].errors == {key: [reported_text]}
    assert f"Refund of the duty on Mug (6912.00, from Portugal): {reported_text}" in text(response)
    assert "Select a valid choice" in text(unknown)
    assert before == []
    assert given(shop) == [[]]
    assert [value for value, _ in form.fields[key].choices] == ["", "full"]


def test_each_duty_of_a_line_has_a_name_of_its_own(panel: Panel, shop: Shop) -> None:
    order = paid(shop, duty("3.00"), duty("3.00"), CERAMICS)
    _, keys = keys_of(order)

    page = panel.get(NEW, order.pk)
    look = looked(panel, order, {keys[1]: "full"})

    for key, name in zip(keys, ("1 of 3", "2 of 3", "3 of 3, 6912.00, from Portugal"), strict=True):
        assert f'for="id_{key}">Refund of the duty on Mug ({name})</label>' in text(page)
    assert "3.00 USD of the duty on Mug (2 of 3)." in text(look)


def test_an_order_without_duties_says_nothing_of_them(panel: Panel, shop: Shop) -> None:
    order = make_order(shop, financial_status="paid")
    (line,), _ = rows_of(order)

    page = panel.get(NEW, order.pk)
    response = panel.post(CALCULATION, order.pk, **{f"units-{line}-unsent": "1"})
    look = looked(panel, order, {f"units-{line}-unsent": "1"})
    finished_response = confirmed(panel, order, look)

    for result in (page, response, look):
        assert "Duties" not in text(result)
    assert "; duties" not in text(finished_response)


def test_a_duty_that_went_back_meanwhile_is_looked_at_anew(panel: Panel, shop: Shop) -> None:
    order = paid(shop, CERAMICS)
    units, (key,) = keys_of(order)
    _, (payment,) = rows_of(order)
    typed = {units: "1", key: "full", f"payment-{payment}": "5.00"}
    look = looked(panel, order, typed)
    refunded(panel, order, {key: "full"})

    refused = confirmed(panel, order, look)

    assert "The order has changed." in text(refused)
    assert "of the duty on Mug" in text(look)
    assert "of the duty on Mug" not in text(refused)
    assert len(given(shop)) == 1


def test_a_choice_is_kept_on_the_way_back_from_the_second_look(panel: Panel, shop: Shop) -> None:
    order = paid(shop, CERAMICS)
    units, (key,) = keys_of(order)
    look = looked(panel, order, {units: "2", key: "proportional"})
    data = form_of(look.content, "seen").data

    edited = panel.http.post(panel.url(NEW, order.pk), {**data, "step": "edit"})

    assert (data[units], data[key]) == (["2"], ["proportional"])
    assert edited.context["form"][key].value() == "proportional"
    assert dict(edited.context["sums"])["Duties"] == "6.67 USD"
