"""Calculate the parts of a refund: line items, shipping and duties, in the order's and the presentment currency.

Amounts are allocated to the items of a line by cumulative rounding: a refund is the difference between the rounded
remaining amounts before and after the refund. Refunding items one by one therefore results in the same total as
refunding all items at once.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NamedTuple

from apps.core.money import ZERO, calculate_portion, round_money
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.orders.domain.pricing import presentment, taxes
from apps.orders.domain.pricing.presentment import PresentmentLine, convert_part
from apps.orders.models import LineItem, Order, ShippingLine
from apps.refunds.domain.tax_shares import TaxShares


class PriceAndTax(NamedTuple):
    """A price and its tax, in the presentment currency."""

    price: Decimal
    tax: Decimal


class LineAmounts(NamedTuple):
    """The refunded discounts and taxes of a line, and its refunded amounts in the presentment currency.

    ``tax_lines`` are the stored taxes of each refund.
    """

    discount: Decimal
    tax: Decimal
    presentment: PriceAndTax
    tax_lines: Sequence[Sequence[ReadOnlyAttrs]] = ()


class RefundedUnits(NamedTuple):
    """Items of a line to refund.

    Attributes:
        prefers_removed: True to first refund items that were removed from the order earlier, False to first refund
            current items.
    """

    line: LineItem
    quantity: int
    prefers_removed: bool = False

    def split(self, current: int, removed: int) -> tuple[int, int]:
        """Return the quantities of current and of removed items, if the line has this many of each."""
        if self.prefers_removed:
            from_removed = min(self.quantity, removed)
            return self.quantity - from_removed, from_removed
        from_current = min(self.quantity, current)
        return from_current, self.quantity - from_current


@dataclass(frozen=True, slots=True)
class RefundedLine:
    """Refunded items of a line item and their shares of the discounts and taxes.

    Attributes:
        discounted: The price after the line item's own discounts.
        cart_discount: The share of order-level discounts.
        presentment: The subtotal and the tax in the presentment currency.
        tax_lines: The share of each tax of the line, in the stored format.
    """

    line: LineItem
    quantity: int
    discounted: Decimal
    cart_discount: Decimal
    tax: Decimal
    presentment: PriceAndTax
    tax_lines: Sequence[Attrs]

    @property
    def subtotal(self) -> Decimal:
        return self.discounted - self.cart_discount


@dataclass(frozen=True, slots=True)
class RefundedShipping:
    row: ShippingLine
    amount: Decimal
    tax: Decimal
    presentment: PriceAndTax
    tax_lines: Sequence[Attrs]


@dataclass(frozen=True, slots=True)
class RefundableDuty:
    """A duty to refund.

    Attributes:
        duty: The entry in ``LineItem.duties``.
        refunded_before: The duty and tax amounts refunded earlier.
        is_proportional: True to refund the duty in proportion to the refunded quantity of the line, False to refund the
            whole remaining duty.
        refunded_tax_lines: The stored taxes of each earlier refund of the duty.
    """

    line: LineItem
    duty: ReadOnlyAttrs
    refunded_before: tuple[Decimal, Decimal] = (ZERO, ZERO)
    is_proportional: bool = False
    refunded_tax_lines: Sequence[Sequence[ReadOnlyAttrs]] = ()

    @property
    def refundable(self) -> tuple[Decimal, Decimal]:
        return Decimal(self.duty["price"]) - self.refunded_before[0], taxes.sum_prices(
            self.duty["tax_lines"]
        ) - self.refunded_before[1]


@dataclass(frozen=True, slots=True)
class RefundedDuty:
    line: LineItem
    duty_id: int
    amount: Decimal
    tax: Decimal
    presentment: PriceAndTax
    tax_lines: Sequence[Attrs]


@dataclass(slots=True)
class LineBalance:
    """The refundable items of a line, current and removed ones, and their shares of discounts and taxes.

    Current items are refunded with the amounts by which the order's total decreases. Removed items share the rest, so
    that all refunds of a line add up to its discounts and taxes, in any order.
    """

    row: PresentmentLine
    current: int
    removed: int
    left: LineAmounts
    taxes: TaxShares
    left_taxes: TaxShares

    @classmethod
    def of(cls, row: PresentmentLine, refunded: LineAmounts | None = None) -> "LineBalance":
        """Return the balance of a line. Without ``refunded``, earlier refunds had equal shares of the amounts."""
        line, refundable = row.line, row.line.quantity - row.line.refunded_quantity
        taxes = TaxShares.of_row(row.order, line.tax_lines)
        if refunded is None:
            left = LineAmounts(
                _get_portion(row, line.discount, refundable),
                _get_portion(row, line.tax, refundable),
                PriceAndTax(row.get_subtotal(refundable), row.get_tax(refundable)),
            )
            left_taxes = taxes.get_first(left.tax, left.presentment.tax)
        else:
            before = refunded.presentment
            left = LineAmounts(
                line.discount - refunded.discount,
                line.tax - refunded.tax,
                PriceAndTax(row.net_price - before.price, row.get_tax(line.quantity) - before.tax),
            )
            left_taxes = taxes.subtract_lines(refunded.tax_lines)
        return cls(row, line.current_quantity, get_removed_quantity(line), left, taxes, left_taxes)

    def take(self, units: RefundedUnits) -> RefundedLine:
        """Calculate the refund of items, and reduce the balance by it."""
        row, line, before, left = self.row, self.row.line, self.current + self.removed, self.left
        current, removed = units.split(self.current, self.removed)

        def take_part(of: Callable[[int], Decimal], remaining: Decimal) -> Decimal:
            """Return the part of an amount. ``of`` returns the portion for the first items."""
            part = of(self.current) - of(self.current - current)
            if removed:
                part += max(remaining - part - of(before - units.quantity), ZERO)
            return part

        discount = take_part(lambda count: _get_portion(row, line.discount, count), left.discount)
        tax = take_part(lambda count: _get_portion(row, line.tax, count), left.tax)
        own = _get_portion(row, line.total_discount, before)
        own = min(own - _get_portion(row, line.total_discount, before - units.quantity), discount)
        subtotal = line.price * units.quantity - discount
        converted = PriceAndTax(subtotal, tax)
        if row.order.is_multi_currency:
            converted = PriceAndTax(
                take_part(row.get_subtotal, left.presentment.price), take_part(row.get_tax, left.presentment.tax)
            )
        shares = self._take_taxes(tax, converted.tax, current, removed)
        self.current, self.removed = self.current - current, self.removed - removed
        rest = PriceAndTax(left.presentment.price - converted.price, left.presentment.tax - converted.tax)
        self.left = LineAmounts(left.discount - discount, left.tax - tax, rest)
        self.left_taxes -= shares
        return RefundedLine(
            line,
            units.quantity,
            subtotal + discount - own,
            discount - own,
            tax,
            converted,
            shares.build_tax_lines(),
        )

    def _take_taxes(self, tax: Decimal, converted: Decimal, current: int, removed: int) -> TaxShares:
        """Split the refunded tax over the taxes of the line, before the balance is reduced."""

        def get_first(count: int) -> tuple[Decimal, Decimal]:
            return _get_portion(self.row, self.row.line.tax, count), self.row.get_tax(count)

        all_current, kept = get_first(self.current), get_first(self.current - current)
        of_current = self.taxes.get_first(*all_current)
        shares = of_current - self.taxes.get_first(*kept)
        if not removed:
            return shares
        rest = tax - (all_current[0] - kept[0]), converted - (all_current[1] - kept[1])
        return shares + (self.left_taxes - of_current).take(*rest)


def _get_portion(row: PresentmentLine, amount: Decimal, quantity: int) -> Decimal:
    return calculate_portion(amount, quantity, row.line.quantity, row.order.currency)


def get_removed_quantity(line: LineItem) -> int:
    """Return the quantity that was removed from the order, for example by an edit, and not refunded."""
    return line.quantity - line.refunded_quantity - line.current_quantity


def calculate_duty(order: Order, refundable_duty: RefundableDuty, units: int, before: PriceAndTax) -> RefundedDuty:
    """Calculate the refund of a duty for refunded items, before the line's ``refunded_quantity`` is increased.

    ``before`` are the duties and taxes of the line refunded before, also by the same refund.
    """
    line, (amount, tax) = refundable_duty.line, refundable_duty.refundable
    if refundable_duty.is_proportional:
        more = line.quantity - line.refunded_quantity

        def of(total: Decimal) -> Decimal:
            fewer = calculate_portion(total, more - units, line.quantity, order.currency)
            return calculate_portion(total, more, line.quantity, order.currency) - fewer

        amount = min(of(Decimal(refundable_duty.duty["price"])), amount)
        tax = min(of(taxes.sum_prices(refundable_duty.duty["tax_lines"])), tax)
    converted = PriceAndTax(
        _convert_between(order, order.to_presentment(line.duty), before.price, amount, line.duty),
        _convert_between(order, order.to_presentment(line.duty_tax), before.tax, tax, line.duty_tax),
    )
    shares = TaxShares.of_duty(order, line, refundable_duty.duty)
    first = refundable_duty.refunded_before[1]
    unrefunded = shares.subtract_lines(refundable_duty.refunded_tax_lines)
    # The presentment taxes of a duty are not cumulative, because the duties of a line are converted together.
    shares = replace(
        shares.get_first(first + tax, ZERO) - shares.get_first(first, ZERO),
        converted=unrefunded.take(tax, converted.tax).converted,
    )
    return RefundedDuty(line, refundable_duty.duty["id"], amount, tax, converted, shares.build_tax_lines())


def _convert_between(order: Order, converted: Decimal, before: Decimal, part: Decimal, whole: Decimal) -> Decimal:
    """Return the presentment amount of a part of an amount. ``before`` is the part refunded before."""
    return convert_part(order, converted, before + part, whole) - convert_part(order, converted, before, whole)


def get_refundable_shipping(rows: Iterable[ShippingLine]) -> Decimal:
    """Return the refundable price of shipping, without taxes."""
    return sum((row.net_price - row.refunded for row in rows), ZERO)


def get_refundable_presentment_shipping(order: Order, rows: Iterable[ShippingLine]) -> Decimal:
    return sum((presentment.get_unrefunded_shipping(order, row)[0] for row in rows), ZERO)


def allocate_shipping(order: Order, rows: Iterable[ShippingLine], amount: Decimal) -> list[RefundedShipping]:
    """Allocate at most the refundable price to the shipping lines in order, with a share of the tax for each line."""
    parts = []
    for row in rows:
        net = row.net_price
        part = min(amount, net - row.refunded)
        upto = row.refunded + part
        tax = max((round_money(row.tax * upto / net, order.currency) if net else row.tax) - row.refunded_tax, ZERO)
        if part or (tax and not net):
            before, after = (
                convert_part(order, order.to_presentment(row.tax), amount, row.tax)
                for amount in (row.refunded_tax, row.refunded_tax + tax)
            )
            converted = PriceAndTax(
                _convert_between(order, presentment.get_shipping_price(order, row), row.refunded, part, net),
                after - before,
            )
            taxes = TaxShares.of_row(order, row.tax_lines)
            shares = taxes.get_first(row.refunded_tax + tax, after) - taxes.get_first(row.refunded_tax, before)
            parts.append(RefundedShipping(row, part, tax, converted, shares.build_tax_lines()))
        amount -= part
    return parts


def reduce_quantities(units: Iterable[RefundedUnits]) -> None:
    """Update the refunded and current quantities of lines after a refund of items."""
    for part in units:
        line = part.line
        current, _removed = part.split(line.current_quantity, get_removed_quantity(line))
        line.refunded_quantity += part.quantity
        line.current_quantity -= current


def add_refunded_shipping(parts: Iterable[RefundedShipping]) -> None:
    for part in parts:
        part.row.refunded += part.amount
        part.row.refunded_tax += part.tax


def add_refunded_duties(parts: Iterable[RefundedDuty]) -> None:
    for part in parts:
        line = part.line
        line.refunded_duty += part.amount
        line.refunded_duty_tax += part.tax
        line.duties = [
            {**duty, "refunded_tax": str(Decimal(duty.get("refunded_tax", 0)) + part.tax)}
            if duty["id"] == part.duty_id
            else duty
            for duty in line.duties
        ]
