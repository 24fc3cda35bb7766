"""Tests for duties in panel refunds: selection, calculation, review, refund and display."""

from decimal import Decimal
from typing import Any

import pytest

from apps.ground.tenancy import shop_scope
from apps.orders.models import Order
from apps.refunds.models import Refund
from apps.shops.models import Shop
from tests.orders.factories import make_order
from tests.panel.conftest import Panel, PanelWith
from tests.panel.html_forms import get_form
from tests.refunds.factories import is_money_consistent
from tests.refunds.pages import CALCULATION, NEW, confirm_refund, get_row_ids, open_form, refund_by_form, review_refund

PAGE = "orders_order_change"
ZERO = Decimal(0)


def build_duty(amount: str, tax: str = "", **details: str) -> dict[str, Any]:
    taxes = [{"title": "VAT", "rate": ZERO, "price": Decimal(tax)}] if tax else []
    return {"shop_money": {"amount": Decimal(amount)}, "tax_lines": taxes, **details}


CERAMICS = build_duty("10.00", "2.00", harmonized_system_code="6912.00", country_code_of_origin="PT")


@pytest.fixture
def refund_client(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("orders", "refund_orders")


def create_paid_order(shop: Shop, *duties: dict[str, Any], **values: Any) -> Order:
    """Create a paid order of three mugs with duties and a card without duties."""
    lines = [
        {"title": "Mug", "price": Decimal("10.00"), "quantity": 3, "duties": list(duties)},
        {"title": "Card", "price": Decimal("1.00"), "quantity": 1},
    ]
    return make_order(shop, lines=lines, financial_status="paid", **values)


def get_field_names(order: Order) -> tuple[str, list[str]]:
    """Return the field names for the quantity and the duties of the mugs."""
    with shop_scope(order.shop):
        line = order.line_items.get(title="Mug")
    return f"units-{line.pk}-unsent", [f"duty-{single_duty['id']}" for single_duty in line.duties]


def get_text(response: Any) -> str:
    return " ".join(response.content.decode().split())


def get_refunded_duties(shop: Shop) -> list[list[tuple[Decimal, Decimal]]]:
    """Return the refunded duties of each refund, with their taxes."""
    with shop_scope(shop):
        refunds = Refund.objects.order_by("pk")
        return [list(refund.duties.order_by("pk").values_list("amount", "tax")) for refund in refunds]


def test_everything_has_the_duties_in_it(refund_client: Panel, shop: Shop) -> None:
    order = create_paid_order(shop, CERAMICS, build_duty("0.50"))
    _, keys = get_field_names(order)
    _, (payment,) = get_row_ids(order)

    form = open_form(refund_client, order, all="1")
    calculated = refund_client.http.post(refund_client.url(NEW, order.pk), {**form, "step": "calculate"})
    response = refund_by_form(refund_client, order, form)

    assert [form[key] for key in keys] == [["full"], ["full"]]
    assert calculated.context["suggestions"] == [(payment, "43.50")]
    assert "Refund created: 43.50 USD." in get_text(response)
    assert "; duties 12.50 USD" in get_text(response)
    assert get_refunded_duties(shop) == [[(Decimal("10.00"), Decimal("2.00")), (Decimal("0.50"), ZERO)]]
    with shop_scope(shop):
        after = Order.objects.get(pk=order.pk)
    assert (after.current_total_price, after.current_total_duties, after.outstanding) == (ZERO, ZERO, ZERO)
    assert is_money_consistent()


def test_a_share_goes_back_with_units_and_the_rest_without(refund_client: Panel, shop: Shop) -> None:
    order = create_paid_order(shop, CERAMICS)
    units, (key,) = get_field_names(order)

    blank = open_form(refund_client, order)
    response = refund_client.post(CALCULATION, order.pk, **{units: "1", key: "proportional"})
    look = review_refund(refund_client, order, {units: "1", key: "proportional"})
    first = confirm_refund(refund_client, order, look)
    form = get_text(refund_client.get(NEW, order.pk))
    rest = review_refund(refund_client, order, {key: "full"})
    last = confirm_refund(refund_client, order, rest)

    assert blank[key] == [""]
    assert dict(response.context["sums"]) == {
        "Subtotal": "10.00 USD",
        "Shipping": "0.00 USD",
        "Duties": "3.33 USD",
        "Tax": "0.67 USD",
        "Total": "14.00 USD",
    }
    reported_text = "4.00 USD of the duty on Mug (6912.00, from Portugal), including 0.67 USD tax."
    assert reported_text in get_text(look)
    assert "Refund created: 14.00 USD." in get_text(first)
    assert '8.00 USD <span class="bo-subtle">including 1.33 USD tax</span>' in form
    assert "8.00 USD of the duty on Mug (6912.00, from Portugal), including 1.33 USD" in get_text(rest)
    assert "Refund created: 8.00 USD." in get_text(last)
    assert get_refunded_duties(shop) == [[(Decimal("3.33"), Decimal("0.67"))], [(Decimal("6.67"), Decimal("1.33"))]]
    assert 'id="duties"' not in get_text(refund_client.get(NEW, order.pk))
    assert is_money_consistent()


def test_duties_have_their_taxes_inside_where_prices_do(refund_client: Panel, shop: Shop) -> None:
    order = create_paid_order(shop, CERAMICS, taxes_included=True)
    _, (key,) = get_field_names(order)

    form = get_text(refund_client.get(NEW, order.pk))
    look = review_refund(refund_client, order, {key: "full"})
    response = confirm_refund(refund_client, order, look)

    assert '10.00 USD <span class="bo-subtle">including 2.00 USD tax</span>' in form
    assert "10.00 USD of the duty on Mug (6912.00, from Portugal), including 2.00 USD tax." in get_text(look)
    assert "Refund created: 10.00 USD." in get_text(response)
    assert "duties 10.00 USD" in get_text(response)


def test_a_share_needs_units_and_is_offered_while_there_are_some(refund_client: Panel, shop: Shop) -> None:
    order = create_paid_order(shop, CERAMICS)
    units, (key,) = get_field_names(order)
    reported_text = "Enter the quantity of the item to refund, or choose “Full refundable amount”."

    refused = review_refund(refund_client, order, {key: "proportional"})
    response = refund_client.post(CALCULATION, order.pk, **{key: "proportional"})
    unknown = review_refund(refund_client, order, {key: "half"})
    before = get_refunded_duties(shop)
    refund_by_form(refund_client, order, {units: "3"})
    form = refund_client.get(NEW, order.pk).context["form"]

    assert refused.context["form"].errors == {key: [reported_text]}
    assert f"Refund for the duty on Mug (6912.00, from Portugal): {reported_text}" in get_text(response)
    assert "Select a valid choice" in get_text(unknown)
    assert before == []
    assert get_refunded_duties(shop) == [[]]
    assert [value for value, _ in form.fields[key].choices] == ["", "full"]


def test_each_duty_of_a_line_has_a_name_of_its_own(refund_client: Panel, shop: Shop) -> None:
    order = create_paid_order(shop, build_duty("3.00"), build_duty("3.00"), CERAMICS)
    _, keys = get_field_names(order)

    page = refund_client.get(NEW, order.pk)
    look = review_refund(refund_client, order, {keys[1]: "full"})

    for key, name in zip(keys, ("1 of 3", "2 of 3", "3 of 3, 6912.00, from Portugal"), strict=True):
        assert f'for="id_{key}">Refund for the duty on Mug ({name})</label>' in get_text(page)
    assert "3.00 USD of the duty on Mug (2 of 3)." in get_text(look)


def test_an_order_without_duties_says_nothing_of_them(refund_client: Panel, shop: Shop) -> None:
    order = make_order(shop, financial_status="paid")
    (line,), _ = get_row_ids(order)

    page = refund_client.get(NEW, order.pk)
    response = refund_client.post(CALCULATION, order.pk, **{f"units-{line}-unsent": "1"})
    look = review_refund(refund_client, order, {f"units-{line}-unsent": "1"})
    finished_response = confirm_refund(refund_client, order, look)

    for result in (page, response, look):
        assert "Duties" not in get_text(result)
    assert "; duties" not in get_text(finished_response)


def test_a_duty_refunded_by_another_user_is_reviewed_again(refund_client: Panel, shop: Shop) -> None:
    order = create_paid_order(shop, CERAMICS)
    units, (key,) = get_field_names(order)
    _, (payment,) = get_row_ids(order)
    typed = {units: "1", key: "full", f"payment-{payment}": "5.00"}
    look = review_refund(refund_client, order, typed)
    refund_by_form(refund_client, order, {key: "full"})

    refused = confirm_refund(refund_client, order, look)

    assert "The order has changed." in get_text(refused)
    assert "of the duty on Mug" in get_text(look)
    assert "of the duty on Mug" not in get_text(refused)
    assert len(get_refunded_duties(shop)) == 1


def test_a_choice_is_kept_on_the_way_back_from_the_second_look(refund_client: Panel, shop: Shop) -> None:
    order = create_paid_order(shop, CERAMICS)
    units, (key,) = get_field_names(order)
    look = review_refund(refund_client, order, {units: "2", key: "proportional"})
    data = get_form(look.content, "seen").data

    edited = refund_client.http.post(refund_client.url(NEW, order.pk), {**data, "step": "edit"})

    assert (data[units], data[key]) == (["2"], ["proportional"])
    assert edited.context["form"][key].value() == "proportional"
    assert dict(edited.context["sums"])["Duties"] == "6.67 USD"
