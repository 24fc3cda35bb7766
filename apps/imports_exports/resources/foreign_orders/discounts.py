"""Find out what the discounts and the shipping price in an order table apply to.

A table contains one discount amount for the whole order, and perhaps discounts of items. Whether the amount includes
the discounts of the items, and whether it applies to shipping, only follows from the subtotal and the total.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from apps.core.i18n.messages import Amount, Message, define_message
from apps.core.money import ZERO, split_amount
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs
from apps.imports_exports.domain.rows import Cells
from apps.imports_exports.resources.foreign_orders.cells import read_amount, read_quantity, read_sum

_UNUSED_DISCOUNT = define_message(
    "order_imports.unused_discount",
    "Discount Amount is larger by {amount} than the discounts that subtotal and total contain, which were imported",
)


@dataclass(frozen=True, slots=True)
class LinePrice:
    """The amounts of an item in the file. ``discount`` excludes the order's discount amount."""

    price: Decimal
    quantity: int
    discount: Decimal
    taxable: bool

    @property
    def gross(self) -> Decimal:
        return self.price * self.quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The prices of an order and how its discounts are allocated.

    Attributes:
        line_discounts: The discounts of the items without a code.
        line_prices: The prices of the items after all discounts.
        codes: The discount codes in the format of a request body.
        shipping: The shipping price before its discount code.
        net_shipping: The shipping price after all discounts.
        taxes_included: True if the prices include the taxes.
        total: The total that the order has with these amounts.
    """

    line_discounts: Sequence[Decimal]
    line_prices: Sequence[Decimal]
    codes: Sequence[Attrs]
    shipping: Decimal
    net_shipping: Decimal
    taxes_included: bool
    total: Decimal
    notes: Sequence[Message] = field(default=())


def read_line_price(row: Cells, *, taxable: bool) -> LinePrice:
    price, discount = read_sum(row, "line_price"), read_sum(row, "line_discount")
    return LinePrice(price, max(read_quantity(row, "line_quantity", 1), 0), discount, taxable)


def find_prices(first: Cells, lines: Sequence[LinePrice], tax: Decimal, *, currency: str) -> Prices:
    """Find the allocation of the discounts with which the subtotal and the total in the file are correct.

    If there is none, the amounts are used as they are, so that the import refuses the order because of its total.
    """
    code, amount = first.get("discount_code", "").strip(), read_sum(first, "discount_amount")
    discounts, on_items = _divide_discount(lines, amount, read_amount(first, "subtotal_price"))
    unused = max(amount - on_items - sum(discounts, ZERO), ZERO)
    remaining = [line.gross - discount for line, discount in zip(lines, discounts, strict=True)]
    parts = split_amount(on_items, remaining, currency) if lines else []
    net = [price - part for price, part in zip(remaining, parts, strict=True)]
    shipping = read_sum(first, "shipping_price")
    others = read_sum(first, "total_duties") + read_sum(first, "total_tip_received")
    before_tax = sum(net, ZERO) + shipping + others
    on_shipping, included = _explain_total(before_tax, tax, shipping, unused, read_amount(first, "total_price"))
    if not on_shipping and not shipping and unused and first.get("shipping_title", "").strip():
        # Free shipping: the file contains the shipping price after the discount.
        shipping, on_shipping = unused, unused
        before_tax += unused
    unused -= min(on_shipping, unused)
    codes: list[Attrs] = []
    if code:
        kinds = (("fixed_amount", on_items), ("shipping", on_shipping))
        codes = [{"code": code, "amount": str(part), "type": kind} for kind, part in kinds if part]
        codes = codes or [{"code": code, "amount": "0", "type": "fixed_amount"}]
    else:
        discounts = [discount + part for discount, part in zip(discounts, parts, strict=True)]
    return Prices(
        line_discounts=discounts,
        line_prices=net,
        codes=codes,
        shipping=shipping if code else shipping - on_shipping,
        net_shipping=shipping - on_shipping,
        taxes_included=included,
        total=before_tax - on_shipping + (ZERO if included else tax),
        notes=[_UNUSED_DISCOUNT(amount=Amount(unused, currency))] if unused else [],
    )


def _divide_discount(
    lines: Sequence[LinePrice], amount: Decimal, subtotal: Decimal | None
) -> tuple[Sequence[Decimal], Decimal]:
    """Return the discounts of the items, and the part of the discount amount that applies to the items."""
    of_lines = [line.discount for line in lines]
    if subtotal is None:
        return of_lines, max(amount - sum(of_lines, ZERO), ZERO)
    # The discount of an item may be written for all units, for one unit, or be part of the price already.
    candidates = [of_lines, [line.discount * line.quantity for line in lines], [ZERO] * len(lines)]
    possible: list[tuple[Sequence[Decimal], Decimal]] = []
    for discounts in candidates:
        rest = sum((line.gross for line in lines), ZERO) - sum(discounts, ZERO) - subtotal
        if rest >= 0 and all(discount <= line.gross for discount, line in zip(discounts, lines, strict=True)):
            possible.append((discounts, rest))
    exact = (pair for pair in possible if pair[1] in {ZERO, amount})
    return next(exact, possible[0] if possible else (of_lines, amount))


def _explain_total(
    before_tax: Decimal, tax: Decimal, shipping: Decimal, unused: Decimal, total: Decimal | None
) -> tuple[Decimal, bool]:
    """Return the discount on shipping, and whether the prices include the taxes."""
    if total is None:
        return min(unused, shipping), bool(tax) and get_current_shop().taxes_included
    differences = [(before_tax + tax - total, False)]
    if tax:
        differences.append((before_tax - total, True))
    for wanted in (ZERO, unused):
        for difference, included in differences:
            if difference == wanted <= shipping:
                return difference, included
    return next(((rest, included) for rest, included in differences if 0 < rest <= shipping), (ZERO, False))
