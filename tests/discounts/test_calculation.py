import random
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from apps.core.money import ZERO, get_minor_unit
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.discounts.domain.calculation import (
    CalculatedDiscounts,
    Cart,
    CartLine,
    CartShipping,
    calculate_discounts,
)
from apps.discounts.models import DiscountUse
from tests.support.factories.catalog import make_product
from tests.support.factories.countries import make_country
from tests.support.factories.customers import make_customer
from tests.support.factories.discounts import make_code, make_rule

pytestmark = pytest.mark.usefixtures("in_shop")


def build_cart(*lines: tuple[int, str, int], currency: str = "USD", shipping: Sequence[str] = (), **cart: Any) -> Cart:
    """Build a cart from ``(quantity, price, product id)``."""
    rows = [CartLine(quantity, Decimal(price), product_id) for quantity, price, product_id in lines]
    return Cart(currency, rows, [CartShipping(Decimal(price)) for price in shipping], **cart)


def calculate(cart: Cart, *codes: str) -> CalculatedDiscounts:
    return calculate_discounts(cart, codes, at=timezone.now())


def get_amounts(allocations: Sequence[Sequence[Attrs]]) -> list[str]:
    return [str(sum((entry["amount"] for entry in line), ZERO).normalize()) for line in allocations]


BUY_TWO = {
    "target_selection": "entitled",
    "allocation_method": "each",
    "prerequisite_quantity_ratio": 2,
    "entitled_quantity_ratio": 1,
}


@pytest.mark.parametrize(
    ("value", "rule", "lines", "amounts"),
    [
        ("-10", {}, [(1, "10.00", 0), (2, "2.50", 0)], ["1", "0.5"]),
        ("-10", {}, [(1, "0.05", 0), (1, "0.05", 0)], ["0.01", "0"]),
        ("-10", {"allocation_method": "each"}, [(1, "0.05", 0), (1, "0.05", 0)], ["0.01", "0.01"]),
        ("-100", {}, [(3, "3.33", 0)], ["9.99"]),
        ("-10", {"value_type": "fixed_amount"}, [(1, "10.00", 0), (1, "20.00", 0)], ["3.33", "6.67"]),
        ("-50", {"value_type": "fixed_amount"}, [(1, "10.00", 0), (1, "20.00", 0)], ["1E+1", "2E+1"]),
        (
            "-3",
            {"value_type": "fixed_amount", "allocation_method": "each"},
            [(2, "10.00", 0), (1, "2.00", 0)],
            ["6", "2"],
        ),
        (
            "-50",
            {"allocation_method": "each", "allocation_limit": 2},
            [(2, "10.00", 0), (1, "2.00", 0)],
            ["5", "1"],
        ),
    ],
)
def test_rules_for_all_items(
    value: str, rule: Attrs, lines: Sequence[tuple[int, str, int]], amounts: list[str]
) -> None:
    make_code("A", make_rule(value, **rule))

    result = calculate(build_cart(*lines), "A")

    assert get_amounts(result.line_allocations) == amounts
    assert result.refused == {}


def test_an_application_has_the_format_of_orders() -> None:
    make_code("Summer", make_rule("-12.5", title="Summer sale"))

    result = calculate(build_cart((1, "8.00", 0)), " SUMMER ")

    assert result.applications == [
        {
            "type": "discount_code",
            "code": "Summer",
            "title": "Summer",
            "description": "Summer sale",
            "value": "12.5",
            "value_type": "percentage",
            "allocation_method": "across",
            "target_selection": "all",
            "target_type": "line_item",
        }
    ]
    assert result.line_allocations == [[{"amount": Decimal(1), "discount_application_index": 0}]]


def test_discounts_apply_to_entitled_products_variants_and_collections() -> None:
    product, other = make_product(), make_product()
    variant = other.variants.get()
    rule = make_rule(
        "-50", target_selection="entitled", entitled_product_ids=[product.pk], entitled_variant_ids=[variant.pk]
    )
    make_code("A", rule)
    lines = [
        CartLine(1, Decimal(10), product.pk),
        CartLine(1, Decimal(20), variant_id=variant.pk),
        CartLine(1, Decimal(40)),
    ]

    result = calculate(Cart("USD", lines), "A")

    assert get_amounts(result.line_allocations) == ["5", "1E+1", "0"]
    assert calculate(Cart("USD", lines[2:]), "A").refused == {"A": "The discount does not apply to these items"}


def test_discounts_of_lines_are_subtracted_first() -> None:
    make_code("A", make_rule("-50"))
    make_code("B", make_rule("-50", value_type="fixed_amount"))
    cart = Cart("USD", [CartLine(2, Decimal(10), discount=Decimal(5))], [CartShipping(Decimal(5))])

    result = calculate(cart, "A", "B", "a")

    assert [[str(entry["amount"]) for entry in line] for line in result.line_allocations] == [["7.50", "7.50"]]
    assert result.shipping_allocations == [[]]
    assert [application["code"] for application in result.applications] == ["A", "B"]


@pytest.mark.parametrize(
    ("quantities", "limit", "amounts"),
    [
        ((2, 1), None, ["0", "5"]),
        ((4, 1), None, ["0", "5"]),
        ((4, 3), None, ["0", "1E+1"]),
        ((4, 3), 1, ["0", "5"]),
        ((1, 3), None, None),
    ],
)
def test_buy_two_get_one(quantities: tuple[int, int], limit: int | None, amounts: list[str] | None) -> None:
    bought, free = make_product(), make_product()
    rule = make_rule(
        "-100",
        **BUY_TWO,
        allocation_limit=limit,
        prerequisite_product_ids=[bought.pk],
        entitled_product_ids=[free.pk],
    )
    make_code("A", rule)

    result = calculate(build_cart((quantities[0], "10.00", bought.pk), (quantities[1], "5.00", free.pk)), "A")

    if amounts is None:
        assert result.refused == {"A": "The items that the discount requires are missing"}
    else:
        assert get_amounts(result.line_allocations) == amounts


@pytest.mark.parametrize(("quantity", "free"), [(2, 0), (3, 1), (5, 1), (6, 2), (3_000_000, 1_000_000)])
def test_a_unit_is_not_both_bought_and_free(quantity: int, free: int) -> None:
    product = make_product()
    ids = {"prerequisite_product_ids": [product.pk], "entitled_product_ids": [product.pk]}
    make_code("A", make_rule("-100", **BUY_TWO, **ids))

    result = calculate(build_cart((quantity, "1.00", product.pk)), "A")

    assert [sum(entry["amount"] for entry in line) for line in result.line_allocations] == [free]


def test_spend_an_amount_and_get_an_item() -> None:
    bought, free = make_product(), make_product()
    rule = make_rule(
        "-50",
        target_selection="entitled",
        allocation_method="each",
        prerequisite_amount=Decimal(25),
        entitled_quantity_ratio=1,
        prerequisite_product_ids=[bought.pk],
        entitled_product_ids=[free.pk],
    )
    make_code("A", rule)

    assert calculate(build_cart((2, "10.00", bought.pk), (1, "8.00", free.pk)), "A").refused
    result = calculate(build_cart((3, "10.00", bought.pk), (2, "8.00", free.pk)), "A")
    assert get_amounts(result.line_allocations) == ["0", "4"]


@pytest.mark.parametrize(("discount", "is_applied"), [("2.00", True), ("2.01", False)])
def test_units_with_fractions_of_a_cent_add_up_to_their_price(discount: str, is_applied: bool) -> None:
    bought, free = make_product(), make_product()
    rule = make_rule(
        "-50",
        target_selection="entitled",
        allocation_method="each",
        prerequisite_amount=Decimal(10),
        entitled_quantity_ratio=1,
        prerequisite_product_ids=[bought.pk],
        entitled_product_ids=[free.pk],
    )
    make_code("A", rule)
    # Three units cost 10.00 together.
    lines = [CartLine(3, Decimal(4), bought.pk, discount=Decimal(discount)), CartLine(1, Decimal(8), free.pk)]

    assert bool(calculate(Cart("USD", lines), "A").applications) == is_applied


def test_free_shipping_depends_on_country_price_and_subtotal(in_shop: Shop) -> None:
    country = make_country()
    rule = make_rule(
        "-100",
        target_type="shipping_line",
        target_selection="entitled",
        allocation_method="each",
        entitled_country_ids=[country.pk],
        prerequisite_shipping_price=Decimal(10),
        prerequisite_subtotal=Decimal(20),
    )
    make_code("A", rule)

    def ship(price: str, code: str, item: str = "20.00") -> CalculatedDiscounts:
        return calculate(build_cart((1, item, 0), shipping=[price, "99.00"], country_code=code), "A")

    assert get_amounts(ship("10.00", country.code.lower()).shipping_allocations) == ["1E+1", "0"]
    assert ship("10.00", country.code).line_allocations == [[]]
    assert ship("10.00", "FR").refused == {"A": "The discount does not apply to shipping to this country"}
    assert ship("10.01", country.code).refused == {"A": "The discount does not apply to this shipping"}
    assert ship("10.00", country.code, "19.99").refused == {"A": "The discount needs a subtotal of at least 20.00 USD"}


def test_reasons_for_refused_codes() -> None:
    now, ada = timezone.now(), make_customer(email="ada@example.com")
    make_code("SOON", make_rule(starts_at=now + timedelta(days=1)))
    make_code("OLD", make_rule(starts_at=now - timedelta(days=2), ends_at=now - timedelta(days=1)))
    make_code("MANY", make_rule(prerequisite_quantity=3))
    make_code("ADA", make_rule(customer_selection="prerequisite", prerequisite_customer_ids=[ada.pk]))
    used = make_code("ONE", make_rule(usage_limit=1))
    used.usage_count = 1
    used.save(update_fields=["usage_count"])
    once = make_code("ONCE", make_rule(once_per_customer=True))
    DiscountUse.objects.create(shop_id=once.shop_id, code=once, email_key="eve@example.com")
    codes = ("NONE", "SOON", "OLD", "MANY", "ADA", "ONE", "ONCE")

    result = calculate(build_cart((2, "1.00", 0), email="EVE@example.com"), *codes)

    assert result.refused == {
        "NONE": "The discount code does not exist",
        "SOON": "The discount has not started yet",
        "OLD": "The discount has expired",
        "MANY": "The discount needs at least 3 items",
        "ADA": "The discount is only for selected customers",
        "ONE": "The discount code has been used up",
        "ONCE": "The customer has already used this discount",
    }
    assert not result.applications
    assert list(calculate(build_cart((3, "1.00", 0), customer=ada), *codes).refused) == ["NONE", "SOON", "OLD", "ONE"]


def test_fixed_amounts_are_converted(in_shop: Shop) -> None:
    in_shop.presentment_currencies = [
        {"currency": "JPY", "rate": "150", "rounding": ""},
        {"currency": "EUR", "rate": None, "rounding": ""},
    ]
    make_code("A", make_rule("-10.01", value_type="fixed_amount", prerequisite_subtotal=Decimal(20)))

    result = calculate(build_cart((1, "3000", 0), (1, "1000", 0), currency="JPY"), "A")

    assert result.applications[0]["value"] == "1502"
    assert get_amounts(result.line_allocations) == ["1127", "375"]
    assert calculate(build_cart((1, "2999", 0), currency="JPY"), "A").refused == {
        "A": "The discount needs a subtotal of at least 3000 JPY"
    }
    assert calculate(build_cart((1, "99", 0), currency="EUR"), "A").refused == {
        "A": "The discount has no amount in EUR"
    }


@pytest.mark.parametrize("currency", ["USD", "JPY", "KWD", "EUR"])
def test_allocations_add_up_to_the_discount(in_shop: Shop, currency: str) -> None:
    in_shop.currency = currency
    generator, unit = random.Random(currency), get_minor_unit(currency)
    for number in range(25):
        lines = [
            CartLine(generator.randint(1, 9), unit * generator.randint(0, 5000)) for _ in range(generator.randint(1, 6))
        ]
        amount = unit * generator.randint(0, 60000)
        percent = Decimal(generator.randint(0, 1000)) / 10
        make_code(f"A{number}", make_rule(str(-amount), value_type="fixed_amount"))
        make_code(f"P{number}", make_rule(str(-percent)))
        net = sum((line.price * line.quantity for line in lines), ZERO)

        result = calculate(Cart(currency, lines), f"P{number}", f"A{number}")

        sums = [ZERO, ZERO]
        for line, allocations in zip(lines, result.line_allocations, strict=True):
            assert sum((entry["amount"] for entry in allocations), ZERO) <= line.price * line.quantity
            for entry in allocations:
                assert entry["amount"] > 0
                assert entry["amount"] % unit == 0
                sums[entry["discount_application_index"]] += entry["amount"]
        assert abs(sums[0] - net * percent / 100) <= unit / 2
        assert sums[1] == min(amount, net - sums[0])
