"""Taxes and duties on line items.

Duties are added to the price of items, even if prices include taxes. The order's setting determines whether a duty
includes its taxes. Duties apply to the ordered quantity of a line and do not change when items are removed. Refunded
duties are stored in ``LineItem.refunded_duty``.
"""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from django.utils.translation import gettext

from apps.ground.error_messages import INVALID
from apps.ground.money import ZERO, format_plain, round_money
from apps.ground.types import Attrs, Errors, ReadOnlyAttrs
from apps.inventory.models import HS_CODE
from apps.orders.models import LineItem, Order
from apps.shops.domain.countries import find_country

# Duty ids are random numbers below this limit, so that JavaScript can represent them exactly.
_MAX_ID = 2**53


def get_tax_prices(prefix: str, taxes: Sequence[ReadOnlyAttrs]) -> dict[str, Decimal | None]:
    """Return the tax amounts in the input, keyed by field path."""
    return {f"{prefix}.{index}.price": tax["price"] for index, tax in enumerate(taxes)}


def get_duty_amounts(prefix: str, duties: Sequence[ReadOnlyAttrs]) -> dict[str, Decimal | None]:
    """Return the amounts of duties and their taxes in the input, keyed by field path."""
    prices: dict[str, Decimal | None] = {}
    for index, duty in enumerate(duties):
        prices[f"{prefix}.{index}.shop_money.amount"] = duty["shop_money"]["amount"]
        prices |= get_tax_prices(f"{prefix}.{index}.tax_lines", duty.get("tax_lines") or ())
    return prices


def build_tax_line(order: Order, base: Decimal, tax: ReadOnlyAttrs) -> Attrs:
    """Return a tax line in the stored format. A missing price is calculated from the rate."""
    rate: Decimal = tax["rate"]
    amount = tax["price"]
    if amount is None:
        exact_amount = base * rate / (1 + rate) if order.taxes_included else base * rate
        amount = round_money(exact_amount, order.currency)
    return {
        "title": tax["title"],
        "rate": format_plain(rate),
        "price": str(amount),
        "channel_liable": tax.get("channel_liable"),
    }


def sum_taxes(taxes: Iterable[ReadOnlyAttrs]) -> list[Attrs]:
    sums: dict[tuple[str, str], Attrs] = {}
    for tax in taxes:
        tax_sum = sums.setdefault((tax["title"], tax["rate"]), {**tax, "price": "0"})
        tax_sum["price"] = str(Decimal(tax_sum["price"]) + Decimal(tax["price"]))
    return list(sums.values())


def complete_duties(order: Order, line: LineItem) -> Errors:
    """Complete a line's duties and their taxes, and set ``duty`` and ``duty_tax``.

    Args:
        order: The order with its currency and tax exemption.
        line: The line. Each of its ``duties`` has ``shop_money`` (``amount``, optionally ``currency_code``),
            ``harmonized_system_code``, ``country_code_of_origin`` and ``tax_lines`` in the same format as the line.

    Returns:
        The errors as ``{field: [messages]}``.
    """
    errors: Errors = {}
    taxable = line.taxable and not order.tax_exempt
    stored_duties: list[Attrs] = []
    for index, duty in enumerate(line.duties):
        price: Decimal = duty["shop_money"]["amount"]
        taxes = [build_tax_line(order, price if taxable else ZERO, tax) for tax in duty.get("tax_lines") or ()]
        tax = sum_prices(taxes)
        if order.taxes_included and tax > price:
            errors[f"duties.{index}.tax_lines"] = [gettext("cannot exceed the price, because the price includes taxes")]
        errors |= {f"duties.{index}.{name}": [INVALID] for name in _invalid_members(order, duty)}
        stored_duties.append(
            {
                "id": 1 + secrets.randbelow(_MAX_ID - 1),
                "harmonized_system_code": duty.get("harmonized_system_code") or None,
                "country_code_of_origin": (duty.get("country_code_of_origin") or "").upper() or None,
                "price": str(price),
                "tax_lines": taxes,
            }
        )
    line.duties = stored_duties
    line.duty, line.duty_tax = (
        sum_prices(stored_duties),
        sum((sum_prices(duty["tax_lines"]) for duty in stored_duties), ZERO),
    )
    return errors


def sum_prices(rows: Iterable[ReadOnlyAttrs]) -> Decimal:
    """Sum the prices of stored taxes or duties."""
    return sum((Decimal(row["price"]) for row in rows), ZERO)


def _invalid_members(order: Order, duty: ReadOnlyAttrs) -> Iterator[str]:
    """Yield the names of duty members that have invalid values."""
    if duty["shop_money"].get("currency_code") not in {None, "", order.currency}:
        yield "shop_money.currency_code"
    if (code := duty.get("country_code_of_origin")) and (len(code) != 2 or find_country(code) is None):
        yield "country_code_of_origin"
    if (number := duty.get("harmonized_system_code")) and not HS_CODE.fullmatch(number):
        yield "harmonized_system_code"
