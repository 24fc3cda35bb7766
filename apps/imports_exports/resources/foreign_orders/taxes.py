"""Allocate the taxes of an order to items and shipping. A table contains only the sum of each tax."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from apps.core.i18n.messages import Amount, Message, define_message
from apps.core.money import ZERO, split_amount
from apps.core.types import Attrs
from apps.imports_exports.domain.rows import Cells
from apps.imports_exports.resources.foreign_orders.cells import read_amount
from apps.imports_exports.resources.foreign_orders.discounts import LinePrice, Prices
from apps.imports_exports.resources.order_columns import NAMED_TAXES

_DIFFERENT_SUM = define_message(
    "order_imports.different_tax_sum",
    "the named taxes add up to {named}, but the order has taxes of {total}. Only this sum was imported",
)
# The end of a tax name, such as ``VAT 19%`` or ``State Tax (6,25 %)``.
_RATE = re.compile(r"\s*\(?\s*([0-9]{1,3}(?:[.,][0-9]{1,10})?)\s*%\s*\)?\s*$", re.ASCII)


@dataclass(frozen=True, slots=True)
class Tax:
    title: str
    rate: Decimal
    amount: Decimal


@dataclass(frozen=True, slots=True)
class AllocatedTaxes:
    """Tax lines in the format of a request body, for each item and for shipping, and their sums."""

    lines: Sequence[list[Attrs]]
    shipping: list[Attrs]
    line_sums: Sequence[Decimal]
    shipping_sum: Decimal


@dataclass(frozen=True, slots=True)
class OrderTaxes:
    taxes: Sequence[Tax]
    total: Decimal
    notes: Sequence[Message] = field(default=())


def read_taxes(first: Cells, *, currency: str) -> OrderTaxes:
    """Read the taxes by name. An amount that no named tax contains becomes a tax without a rate."""
    taxes: list[Tax] = []
    for name_column, column in NAMED_TAXES.items():
        amount = read_amount(first, column)
        if amount is not None:
            taxes.append(_build_tax(first.get(name_column, "").strip(), amount))
    named = sum((tax.amount for tax in taxes), ZERO)
    total = read_amount(first, "total_tax")
    if total is None or total == named:
        return OrderTaxes(taxes, named)
    if total > named:
        return OrderTaxes([*taxes, Tax("Tax", ZERO, total - named)], total)
    note = _DIFFERENT_SUM(named=Amount(named, currency), total=Amount(total, currency))
    return OrderTaxes([Tax("Tax", ZERO, total)], total, [note])


def _build_tax(name: str, amount: Decimal) -> Tax:
    match = _RATE.search(name)
    if match is None:
        return Tax(name or "Tax", ZERO, amount)
    return Tax(name[: match.start()].strip() or "Tax", Decimal(match[1].replace(",", ".")) / 100, amount)


def allocate_taxes(
    taxes: Sequence[Tax], lines: Sequence[LinePrice], prices: Prices, *, currency: str
) -> AllocatedTaxes:
    """Allocate each tax to the taxable items and, if its rate or a lack of other prices says so, to shipping."""
    is_any_taxable = any(line.taxable and price for line, price in zip(lines, prices.line_prices, strict=True))
    bases = [
        price if line.taxable or not is_any_taxable else ZERO
        for line, price in zip(lines, prices.line_prices, strict=True)
    ]
    of_lines: list[list[Attrs]] = [[] for _ in lines]
    of_shipping: list[Attrs] = []
    line_sums, shipping_sum = [ZERO] * len(lines), ZERO
    rates = sum((tax.rate for tax in taxes), ZERO)
    for tax in taxes:
        shipping_base = prices.net_shipping if _is_on_shipping(tax, sum(bases, ZERO), prices, rates) else ZERO
        *parts, shipping_part = split_amount(tax.amount, [*bases, shipping_base], currency)
        for index, part in enumerate(parts):
            if bases[index] or part:
                of_lines[index].append(_build_line(tax, part))
                line_sums[index] += part
        if shipping_base or shipping_part:
            of_shipping.append(_build_line(tax, shipping_part))
            shipping_sum += shipping_part
    return AllocatedTaxes(of_lines, of_shipping, line_sums, shipping_sum)


def _is_on_shipping(tax: Tax, base: Decimal, prices: Prices, rates: Decimal) -> bool:
    """Return True if the amount of a tax fits the price of items and shipping better than the price of items."""
    if not base or not prices.net_shipping or not tax.rate:
        return not base and bool(prices.net_shipping)
    factor = tax.rate / (1 + rates) if prices.taxes_included else tax.rate
    return abs((base + prices.net_shipping) * factor - tax.amount) < abs(base * factor - tax.amount)


def _build_line(tax: Tax, price: Decimal) -> Attrs:
    return {"title": tax.title, "rate": str(tax.rate), "price": str(price)}
