from collections.abc import Iterable
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.core.money import ZERO, get_minor_unit
from apps.orders.domain import payments
from apps.orders.models import Order, ShippingLine
from apps.refunds.domain import calculation, refunded_parts
from tests.support.refunds.golden import GoldenCase, find_wrong_arithmetic, load_cases
from tests.support.refunds.rows import (
    UnsavedOrder,
    build_books,
    build_duties,
    build_duty,
    build_tax,
    build_units,
    make_line,
)
from tests.support.timing import scale_for_soak

CASES = load_cases()
CURRENCIES = ("JPY", "USD", "KWD")


def test_the_cases_are_numerous_enough() -> None:
    assert len(CASES) == len({case.name for case in CASES}) >= 40


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_arithmetic_of_the_table_holds(case: GoldenCase) -> None:
    assert find_wrong_arithmetic(case) == []


@pytest.mark.parametrize("case", CASES, ids=str)
def test_golden_cases_match_the_calculation(case: GoldenCase) -> None:
    books = build_books(case)
    *before, last = case.steps
    for step in before:
        books.refund(books.calculate(build_units(books, step), step.post, build_duties(books, step)))

    result = books.calculate(build_units(books, last), last.post, build_duties(books, last))

    assert (
        add_up(part.subtotal for part in result.lines),
        add_up(part.tax for part in result.lines),
        add_up(part.amount for part in result.shipping),
    ) == case.expected
    assert (add_up(part.amount for part in result.duties), add_up(part.tax for part in result.duties)) == case.duties
    assert tuple(share.amount for share in result.shares) == case.back


def add_up(amounts: Iterable[Decimal]) -> Decimal:
    return sum(amounts, ZERO)


@st.composite
def draw_paid_order(draw: st.DrawFn) -> UnsavedOrder:
    currency, other = draw(st.sampled_from(CURRENCIES)), draw(st.sampled_from(CURRENCIES))
    step = get_minor_unit(currency)
    amounts = st.integers(0, 5000).map(lambda count: count * step)
    rate = Decimal(1) if other == currency else draw(st.integers(1, 20000).map(lambda count: Decimal(count) / 100))
    included = draw(st.booleans())
    order = Order(currency=currency, presentment_currency=other, exchange_rate=rate, taxes_included=included, number=1)
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        price, quantity = draw(amounts), draw(st.integers(1, 9))
        off = min(draw(amounts), price * quantity)
        tax, duty = min(draw(amounts), price * quantity - off), draw(amounts)
        lines.append(make_line(price, quantity, off=off, tax=tax, duty=build_duty(duty, min(draw(amounts), duty))))
    code = min(draw(amounts), sum((line.price * line.quantity - line.total_discount for line in lines), ZERO))
    if order.taxes_included:
        # Included taxes cannot exceed the price after discounts.
        code = ZERO
    price = draw(amounts)
    shipping = [ShippingLine(title="Post", price=price, tax_lines=build_tax(min(draw(amounts), price)))]
    books = UnsavedOrder(order, lines, shipping, code=code)
    total_price = order.total_price
    if part := draw(st.integers(0, 3)):
        first = (total_price * part / 3 // step) * step
        if first:
            books.pay(first, currency)
    if order.total_price > sum((row.shop_amount for row in books.known), ZERO):
        chosen = draw(st.sampled_from([currency, other]))
        books.pay(None, chosen if payments.get_balance_due(order, books.known, chosen) else currency)
    return books


@settings(max_examples=300)
@given(data=st.data())
def test_units_one_by_one_come_to_the_same_as_all_at_once(data: st.DataObject) -> None:
    check_random_split(data)


@pytest.mark.soak
@settings(max_examples=scale_for_soak(10_000), derandomize=False)
@given(data=st.data())
def test_ten_thousand_splits_add_up(data: st.DataObject) -> None:
    check_random_split(data)


def check_random_split(data: st.DataObject) -> None:
    books = data.draw(draw_paid_order())
    order, other = books.order, books.order.presentment_currency
    everything = [(line, line.quantity) for line in books.lines]
    refundable_shipping = refunded_parts.get_refundable_shipping(books.shipping)
    carrying = [line for line in books.lines if line.duties]
    full_calculation = books.calculate(
        everything, refundable_shipping, [books.duty(line, share=False) for line in carrying]
    )
    single = [line for line in books.lines for _ in range(line.quantity)]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(single)), max_size=6)))
    shuffled = data.draw(st.permutations(single))
    step = get_minor_unit(order.currency)
    worth, tax = ZERO, ZERO
    for start, end in pairwise([0, *cuts, len(single)]):
        shipping_amount = min(
            refunded_parts.get_refundable_shipping(books.shipping), data.draw(st.integers(0, 9)) * step
        )
        if end == len(single):
            shipping_amount = refunded_parts.get_refundable_shipping(books.shipping)
        counts = {id(line): sum(row is line for row in shuffled[start:end]) for line in books.lines}
        units = [(line, counts[id(line)]) for line in books.lines if counts[id(line)]]
        result = books.calculate(
            units, shipping_amount, [books.duty(line, share=True) for line in carrying if counts[id(line)]]
        )
        assert all(min(part.subtotal, part.tax, part.cart_discount) >= 0 for part in result.lines)
        assert all(ZERO <= share.amount <= share.refundable for share in result.shares)
        settlement = calculation.settle(result, [(share.payment, share.amount) for share in result.shares])
        assert (settlement.discrepancy, settlement.presentment_discrepancy) == (ZERO, ZERO)
        assert list(settlement.in_order) == [share.in_order for share in result.shares]
        books.refund(result)
        worth += result.total
        tax += add_up(part.tax for part in result.lines)
        # The order's currency can have smaller units than the currency of the payments.
        assert order.to_presentment(abs(order.outstanding)) <= (get_minor_unit(other) if order.is_multi_currency else 0)

    assert worth == full_calculation.total == order.total_price
    assert tax == add_up(line.tax for line in books.lines)
    for line in books.lines:
        assert (line.refunded_duty, line.refunded_duty_tax) == (line.duty, line.duty_tax)
    payment = [row for row in books.known if row.kind == "sale"]
    assert [row.refunded for row in payment] == [row.amount for row in payment]
    assert order.total_refunded == order.total_paid
    assert (order.current_total_price, order.current_total_tax, order.current_total_duties) == (ZERO, ZERO, ZERO)
