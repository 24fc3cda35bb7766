from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from apps.core.money import (
    calculate_portion,
    convert_amount,
    format_plain,
    get_decimal_places,
    get_minor_unit,
    has_valid_precision,
    is_currency,
    round_money,
    split_amount,
)
from apps.orders.domain.pricing import prices as pricing
from apps.orders.domain.pricing import totals
from apps.orders.models import LineItem, Order, ShippingLine

CURRENCIES = st.sampled_from(["JPY", "USD", "EUR", "KWD"])


@st.composite
def draw_amounts(draw: st.DrawFn, most: int = 10**9) -> tuple[str, list[Decimal]]:
    currency = draw(CURRENCIES)
    units = draw(st.lists(st.integers(0, most), min_size=1, max_size=12))
    return currency, [Decimal(unit) * get_minor_unit(currency) for unit in units]


@given(draw_amounts(), st.integers(0, 10**12))
def test_split_adds_up_to_the_cent(given_amounts: tuple[str, list[Decimal]], units: int) -> None:
    currency, weights = given_amounts
    total = Decimal(units) * get_minor_unit(currency)

    parts = split_amount(total, weights, currency)

    assert sum(parts) == total
    assert all(part >= 0 and part == round_money(part, currency) for part in parts)
    if total <= sum(weights):
        assert all(part <= weight for part, weight in zip(parts, weights, strict=True))


@given(CURRENCIES, st.integers(0, 10**9), st.integers(1, 50))
def test_portions_of_single_units_add_up_to_the_whole(currency: str, units: int, quantity: int) -> None:
    total = Decimal(units) * get_minor_unit(currency)

    shares = [
        calculate_portion(total, n + 1, quantity, currency) - calculate_portion(total, n, quantity, currency)
        for n in range(quantity)
    ]

    assert sum(shares) == total
    assert all(share >= 0 for share in shares)


@given(
    draw_amounts(10**6),
    st.integers(0, 10**6),
    st.decimals(0, 100, places=2),
    st.decimals(0, 1, places=4),
    st.booleans(),
)
def test_orders_add_up(
    given_amounts: tuple[str, list[Decimal]], off: int, percent: Decimal, rate: Decimal, included: bool
) -> None:
    currency, prices = given_amounts
    order = Order(currency=currency, presentment_currency=currency, taxes_included=included)
    lines = [
        LineItem(
            price=price,
            quantity=index + 1,
            current_quantity=index + 1,
            tax_lines=[{"title": "VAT", "rate": rate, "price": None}],
        )
        for index, price in enumerate(prices)
    ]
    shipping = [ShippingLine(title="Post", price=get_minor_unit(currency) * 7)]
    codes = [
        {"code": "A", "amount": Decimal(off) * get_minor_unit(currency), "type": "fixed_amount"},
        {"code": "B", "amount": percent, "type": "percentage"},
        {"code": "C", "amount": get_minor_unit(currency) * 3, "type": "shipping"},
    ]

    errors = pricing.price_order(order, lines, shipping, codes=codes)

    assert errors == {}
    rows: list[LineItem | ShippingLine] = [*lines, *shipping]
    assert order.total_discounts == sum(Decimal(code["amount"]) for code in order.discount_codes)
    assert order.total_discounts == sum(row.discount for row in rows)
    assert order.total_tax == sum(Decimal(tax["price"]) for tax in order.tax_lines) == sum(row.tax for row in rows)
    assert order.subtotal_price == order.total_line_items_price - sum(line.discount for line in lines) >= 0
    subtotal_price = order.subtotal_price + get_minor_unit(currency) * 4 + (0 if included else order.total_tax)
    assert order.total_price == order.current_total_price == subtotal_price
    for line in lines:
        line.current_quantity = 0
    totals.set_current_totals(order, lines, [])
    assert order.current_total_price == order.current_total_tax == order.current_total_discounts == 0


def test_places_are_those_of_the_currency() -> None:
    places = {"JPY": 0, "USD": 2, "KWD": 3, "EUR": 2}

    assert {currency: get_decimal_places(currency) for currency in places} == places


def test_amounts_fit_with_at_most_the_decimals() -> None:
    fits = {
        ("1.5", "JPY"): False,
        ("1", "JPY"): True,
        ("1.234", "KWD"): True,
        ("1.2345", "KWD"): False,
        ("NaN", "USD"): False,
    }

    assert {pair: has_valid_precision(Decimal(pair[0]), pair[1]) for pair in fits} == fits


def test_a_number_is_written_in_one_way() -> None:
    texts = {"0.200": "0.2", "10": "10", "1E+3": "1000", "0.000": "0"}

    assert {number: format_plain(Decimal(number)) for number in texts} == texts


def test_roundings_go_half_up() -> None:
    assert round_money(Decimal("0.125"), "USD") == Decimal("0.13")
    assert convert_amount(Decimal("0.005"), Decimal(100), "JPY") == 1


def test_current_and_former_legal_tenders_are_currencies_and_no_others() -> None:
    known = {"USD", "JPY", "KWD", "XAF", "XOF", "XPF", "DEM"}
    unknown = {"", "usd", "XYZ", "CLF", "US", "XXX", "XTS", "XAU", "XDR", "CHE", "BOV"}

    assert {code for code in known | unknown if is_currency(code)} == known
