from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.orders.models import Order, Transaction
from apps.refunds.models import Refund
from tests.refunds.test_golden_rest import CENTS, build_order_body, build_taxes, post_paid_order
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.factories.refunds import is_money_consistent
from tests.support.panel.client import Panel
from tests.support.panel.html_forms import get_form
from tests.support.panel.pages import CALCULATION, NEW
from tests.support.refunds.golden import RefundStep, load_cases
from tests.support.subtests import Subtests
from tests.support.types import JsonObject

ZERO = Decimal(0)


@pytest.fixture
def refund_client(shop: Shop) -> Panel:
    return Panel(factories.make_member(shop, "refund_orders"), shop)


def build_typed_fields(order: Attrs, step: RefundStep) -> dict[str, str]:
    ids = {line["title"]: line["id"] for line in order["line_items"]}
    units = {f"units-{ids[letter]}-unsent": str(count) for letter, count in step.units}
    duty = {line["title"]: f"duty-{line['duties'][0]['id']}" for line in order["line_items"] if line["duties"]}
    duties = {duty[letter]: "full" for letter in step.whole} | {duty[letter]: "proportional" for letter in step.share}
    return {**units, **duties, **({"shipping": str(step.post)} if step.post else {})}


def refund_by_panel(staff: Panel, order: Attrs, fields: Attrs) -> dict[int, Decimal]:
    """Review and confirm a refund; compare the reviewed amounts with the stored amounts, and return the amounts."""
    look = staff.forge(NEW, order["id"], step="look", **fields)
    data = get_form(look.content, "seen").data
    before = get_newest_refund(staff.shop)
    assert staff.http.post(staff.url(NEW, order["id"]), {**data, "step": "refund"}).status_code == 302
    amounts = {
        int(name.removeprefix("payment-")): Decimal(value)
        for name, (value,) in data.items()
        if name.startswith("payment-")
    }
    with shop_scope(staff.shop):
        transactions = Transaction.objects.filter(order=order["id"], kind="refund", pk__gt=before)
        stored = {row.parent_id: row.amount for row in transactions}
    assert stored == {pk: amount for pk, amount in amounts.items() if amount}
    return amounts


def get_full_refund_form(staff: Panel, pk: int) -> JsonObject:
    data = get_form(staff.get(NEW, pk, all="1").content, "note").data
    return {name: values for name, values in data.items() if name not in {"form_key", "csrfmiddlewaretoken"}}


def add_up_duties(rows: Iterable[Any]) -> tuple[Decimal, Decimal]:
    amounts = [(row.amount, row.tax) for row in rows]
    return sum((amount for amount, _ in amounts), ZERO), sum((tax for _, tax in amounts), ZERO)


def get_refunded_duties(shop: Shop, order_id: int) -> tuple[Decimal, Decimal]:
    with shop_scope(shop):
        return add_up_duties(Refund.objects.filter(order=order_id).latest("pk").duties.all())


def get_newest_refund(shop: Shop) -> int:
    with shop_scope(shop):
        return Transaction.objects.order_by("-pk").values_list("pk", flat=True).first() or 0


def test_the_golden_cases_come_to_the_same_through_the_panels_form(api: ApiClient, refund_client: Panel) -> None:
    with Subtests() as checks:
        for case in load_cases():
            with checks(str(case)):
                response = api.post("orders.json", {"order": build_order_body(case)})
                assert response.status_code == 201, response.json()
                order = response.json()["order"]
                *before, last = (build_typed_fields(order, step) for step in case.steps)
                for fields in before:
                    refund_by_panel(refund_client, order, fields)

                context = refund_client.post(CALCULATION, order["id"], **last).context
                message = refund_by_panel(refund_client, order, last)

                calculation = context["found"]
                assert (
                    sum((part.subtotal for part in calculation.lines), ZERO),
                    sum((part.tax for part in calculation.lines), ZERO),
                    sum((part.amount for part in calculation.shipping), ZERO),
                ) == case.expected
                assert add_up_duties(calculation.duties) == case.duties
                assert get_refunded_duties(refund_client.shop, order["id"]) == case.duties
                # The panel does not display fully refunded payments.
                assert [Decimal(amount) for _, amount in context["suggestions"]] == list(message.values())
                assert [amount for amount in message.values() if amount] == [amount for amount in case.back if amount]
    assert is_money_consistent()


@settings(max_examples=6, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_splits_add_up_in_the_panel(api: ApiClient, refund_client: Panel, data: st.DataObject) -> None:
    quantity = data.draw(st.integers(2, 5))
    duty = {"shop_money": {"amount": str(data.draw(CENTS))}, "tax_lines": build_taxes(data.draw(CENTS))}
    order = post_paid_order(api, data, quantity, duties=[duty])
    returned, remaining_quantity = ZERO, quantity
    while remaining_quantity:
        count = data.draw(st.integers(1, remaining_quantity))
        remaining_quantity -= count
        step = RefundStep((("A", count),), ZERO, share=("A",) if data.draw(st.booleans()) else ())
        full = {} if remaining_quantity else get_full_refund_form(refund_client, order["id"])
        fields = full or build_typed_fields(order, step)
        returned += sum(refund_by_panel(refund_client, order, fields).values(), ZERO)

    with shop_scope(refund_client.shop):
        after = Order.objects.get(pk=order["id"])
    assert returned == Decimal(order["total_price"])
    assert (after.current_total_price, after.outstanding) == (ZERO, ZERO)
