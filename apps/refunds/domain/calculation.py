"""Calculate refunds: line items, duties, shipping, and the split of the total over payments.

The functions are pure: they work on loaded rows of an order, saved or not, and do not access the database. Amounts are
allocated to the items of a line by cumulative rounding: a refund is the difference between the rounded remaining
amounts before and after the refund. Refunding items one by one therefore results in the same total as refunding all
items at once.

Amounts are in the order's currency, except amounts refunded to a payment, which are in the payment's currency.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NamedTuple

from apps.core.money import ZERO, calculate_portion, round_money
from apps.core.types import ReadOnlyAttrs
from apps.orders.domain.payments import PAYMENT_KINDS
from apps.orders.domain.pricing import taxes, totals
from apps.orders.models import LineItem, Order, ShippingLine, Transaction

# The statuses of refunds that have returned money or may still return money.
ACTIVE_STATUSES = frozenset({Transaction.Status.SUCCESS, Transaction.Status.PENDING})


class LineAmounts(NamedTuple):
    """The discounts and taxes of refunded items of a line."""

    discount: Decimal
    tax: Decimal


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
    """

    line: LineItem
    quantity: int
    discounted: Decimal
    cart_discount: Decimal
    tax: Decimal

    @property
    def subtotal(self) -> Decimal:
        return self.discounted - self.cart_discount


@dataclass(frozen=True, slots=True)
class RefundedShipping:
    row: ShippingLine
    amount: Decimal
    tax: Decimal


@dataclass(frozen=True, slots=True)
class RefundableDuty:
    """A duty to refund.

    Attributes:
        duty: The entry in ``LineItem.duties``.
        refunded_before: The duty and tax amounts refunded earlier.
        is_proportional: True to refund the duty in proportion to the refunded quantity of the line, False to refund the
            whole remaining duty.
    """

    line: LineItem
    duty: ReadOnlyAttrs
    refunded_before: tuple[Decimal, Decimal] = (ZERO, ZERO)
    is_proportional: bool = False

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


@dataclass(frozen=True, slots=True)
class PaymentBalance:
    """A payment and its refundable amount, in the payment's currency and in the order's currency."""

    payment: Transaction
    refundable: Decimal
    refundable_in_order: Decimal


@dataclass(frozen=True, slots=True)
class PaymentShare:
    """The amount refunded to a payment, in the payment's currency and in the order's currency."""

    payment: Transaction
    amount: Decimal
    in_order: Decimal
    refundable: Decimal


@dataclass(frozen=True, slots=True)
class RefundCalculation:
    """A calculated refund.

    Attributes:
        total: The price of the items, shipping and duties, with taxes.
        overpaid: The amount by which payments exceed the order's total without the refunded items, shipping and duties.
        suggested: The suggested refund: ``total``, but at most ``overpaid``.
        shares: The suggested refund per payment, oldest first, including payments with nothing to refund.
    """

    lines: Sequence[RefundedLine]
    shipping: Sequence[RefundedShipping]
    duties: Sequence[RefundedDuty]
    total: Decimal
    overpaid: Decimal
    suggested: Decimal
    shares: Sequence[PaymentShare]

    def discrepancy(self, refunded: Decimal) -> Decimal:
        """Return the amount withheld from the suggestion (positive) or refunded beyond ``overpaid`` (negative)."""
        if refunded < self.suggested:
            return self.suggested - refunded
        return min(self.overpaid - refunded, ZERO)


def calculate_portion_between(total: Decimal, more: int, fewer: int, of: int, currency: str) -> Decimal:
    """Return the part of an amount that is removed when the quantity drops from ``more`` to ``fewer``."""
    return calculate_portion(total, more, of, currency) - calculate_portion(total, fewer, of, currency)


@dataclass(slots=True)
class LineBalance:
    """What is left to refund of a line: its current and its removed items, and their shares of discounts and taxes.

    Current items are refunded with the amounts by which the order's total decreases. Removed items share the rest, so
    that all refunds of a line add up to its discounts and taxes, in any order.
    """

    line: LineItem
    currency: str
    current: int
    removed: int
    discount: Decimal
    tax: Decimal

    @classmethod
    def of(cls, line: LineItem, currency: str, refunded: LineAmounts | None = None) -> "LineBalance":
        """Return the balance of a line. Without ``refunded``, earlier refunds had equal shares of the amounts."""
        refundable = line.quantity - line.refunded_quantity
        if refunded is None:
            discount = calculate_portion(line.discount, refundable, line.quantity, currency)
            tax = calculate_portion(line.tax, refundable, line.quantity, currency)
        else:
            discount, tax = line.discount - refunded.discount, line.tax - refunded.tax
        return cls(line, currency, line.current_quantity, get_removed_quantity(line), discount, tax)

    def take(self, units: RefundedUnits) -> RefundedLine:
        """Calculate the refund of items, and reduce the balance by it."""
        line, before = self.line, self.current + self.removed
        current, removed = units.split(self.current, self.removed)
        discount = self._take_part(line.discount, self.discount, current, removed)
        tax = self._take_part(line.tax, self.tax, current, removed)
        own = calculate_portion_between(
            line.total_discount, before, before - units.quantity, line.quantity, self.currency
        )
        own = min(own, discount)
        self.current, self.removed = self.current - current, self.removed - removed
        self.discount, self.tax = self.discount - discount, self.tax - tax
        return RefundedLine(line, units.quantity, line.price * units.quantity - own, discount - own, tax)

    def _take_part(self, total: Decimal, remaining: Decimal, current: int, removed: int) -> Decimal:
        of, left = self.line.quantity, self.current - current
        part = calculate_portion_between(total, self.current, left, of, self.currency)
        if removed:
            kept = calculate_portion(total, left + self.removed - removed, of, self.currency)
            part += max(remaining - part - kept, ZERO)
        return part


def calculate_duty(refundable_duty: RefundableDuty, units: int, currency: str) -> RefundedDuty:
    """Calculate the refund of a duty for refunded items, before the line's ``refunded_quantity`` is increased."""
    line, (price_left, tax_left) = refundable_duty.line, refundable_duty.refundable
    if not refundable_duty.is_proportional:
        return RefundedDuty(line, refundable_duty.duty["id"], price_left, tax_left)
    more = line.quantity - line.refunded_quantity

    def of(total: Decimal) -> Decimal:
        return calculate_portion_between(total, more, more - units, line.quantity, currency)

    amount = min(of(Decimal(refundable_duty.duty["price"])), price_left)
    tax = min(of(taxes.sum_prices(refundable_duty.duty["tax_lines"])), tax_left)
    return RefundedDuty(line, refundable_duty.duty["id"], amount, tax)


def get_refundable_shipping(rows: Iterable[ShippingLine]) -> Decimal:
    """Return the refundable price of shipping, without taxes."""
    return sum((row.net_price - row.refunded for row in rows), ZERO)


def allocate_shipping(rows: Iterable[ShippingLine], amount: Decimal, currency: str) -> list[RefundedShipping]:
    """Allocate at most the refundable price to the shipping lines in order, with a share of the tax for each line."""
    parts = []
    for row in rows:
        net = row.net_price
        part = min(amount, net - row.refunded)
        upto = row.refunded + part
        tax = max((round_money(row.tax * upto / net, currency) if net else row.tax) - row.refunded_tax, ZERO)
        if part or (tax and not net):
            parts.append(RefundedShipping(row, part, tax))
        amount -= part
    return parts


def calculate_total(
    order: Order, lines: Iterable[RefundedLine], shipping: Iterable[RefundedShipping], duties: Iterable[RefundedDuty]
) -> Decimal:
    """Return the price of items, shipping and duties, plus taxes if prices do not include taxes."""
    parts: list[RefundedShipping | RefundedDuty] = [*shipping, *duties]
    amounts = [*((part.subtotal, part.tax) for part in lines), *((part.amount, part.tax) for part in parts)]
    return sum((add_tax(order, amount, tax) for amount, tax in amounts), ZERO)


def add_tax(order: Order, amount: Decimal, tax: Decimal) -> Decimal:
    """Return an amount plus its tax. If prices include taxes, return the amount unchanged."""
    return amount if order.taxes_included else amount + tax


def get_payment_balances(transactions: Sequence[Transaction]) -> list[PaymentBalance]:
    """Return the payments of an order, oldest first, with the refundable amount of each."""
    refunded: dict[int, Decimal] = {}
    for row in transactions:
        if row.kind == Transaction.Kind.REFUND and row.status in ACTIVE_STATUSES and row.parent is not None:
            refunded[id(row.parent)] = refunded.get(id(row.parent), ZERO) + row.shop_amount
    return [
        PaymentBalance(row, row.amount - row.refunded, max(row.shop_amount - refunded.get(id(row), ZERO), ZERO))
        for row in transactions
        if row.kind in PAYMENT_KINDS and row.status == Transaction.Status.SUCCESS
    ]


def calculate_amounts(
    order: Order,
    every_line: Sequence[LineItem],
    every_shipping: Sequence[ShippingLine],
    transactions: Sequence[Transaction],
    *,
    units: Sequence[RefundedUnits] = (),
    shipping: Decimal = ZERO,
    duties: Sequence[RefundableDuty] = (),
    refunded: Mapping[int, LineAmounts] | None = None,
) -> RefundCalculation:
    """Calculate a refund from all rows of an order. Shipping lines and transactions are sorted, oldest first.

    ``parent`` of a transaction must refer to an object in ``transactions``. A line may occur more than once in
    ``units``, and a duty only once in ``duties``. The quantities and the shipping amount must be refundable.
    ``refunded`` are the amounts refunded earlier, keyed by line ID.
    """
    balances: dict[int, LineBalance] = {}
    quantities = Counter[int]()
    refunded_lines = []
    for part in units:
        key = id(part.line)
        if key not in balances:
            balances[key] = LineBalance.of(part.line, order.currency, (refunded or {}).get(part.line.pk))
        refunded_lines.append(balances[key].take(part))
        quantities[key] += part.quantity
    refunded_shipping = allocate_shipping(every_shipping, shipping, order.currency)
    refunded_duties = [calculate_duty(duty, quantities[id(duty.line)], order.currency) for duty in duties]
    worth = calculate_total(order, refunded_lines, refunded_shipping, refunded_duties)
    open_balances = get_payment_balances(transactions)
    net_paid = sum((balance.refundable_in_order for balance in open_balances), ZERO)
    new_total = calculate_new_total(
        order,
        every_line,
        every_shipping,
        units=units,
        refunded_shipping=refunded_shipping,
        refunded_duties=refunded_duties,
    )
    overpaid = max(net_paid - new_total, ZERO)
    suggested = min(worth, overpaid)
    return RefundCalculation(
        refunded_lines,
        refunded_shipping,
        refunded_duties,
        worth,
        overpaid,
        suggested,
        allocate_to_payments(suggested, open_balances),
    )


def calculate_new_total(
    order: Order,
    every_line: Sequence[LineItem],
    every_shipping: Sequence[ShippingLine],
    *,
    units: Sequence[RefundedUnits],
    refunded_shipping: Sequence[RefundedShipping],
    refunded_duties: Sequence[RefundedDuty],
) -> Decimal:
    """Return the order's current total without the refunded items, shipping and duties."""
    after = copy(order)
    lines = {id(line): copy(line) for line in every_line}
    rows = {id(row): copy(row) for row in every_shipping}
    reduce_quantities([part._replace(line=lines[id(part.line)]) for part in units])
    add_refunded_shipping([RefundedShipping(rows[id(part.row)], part.amount, part.tax) for part in refunded_shipping])
    add_refunded_duties([replace(part, line=lines[id(part.line)]) for part in refunded_duties])
    totals.set_current_totals(after, list(lines.values()), list(rows.values()))
    return after.current_total_price


def reduce_quantities(units: Iterable[RefundedUnits]) -> None:
    """Update the refunded and current quantities of lines after a refund of items."""
    for part in units:
        line = part.line
        current, _removed = part.split(line.current_quantity, get_removed_quantity(line))
        line.refunded_quantity += part.quantity
        line.current_quantity -= current


def get_removed_quantity(line: LineItem) -> int:
    """Return the quantity that was removed from the order, for example by an edit, and not refunded."""
    return line.quantity - line.refunded_quantity - line.current_quantity


def add_refunded_shipping(parts: Iterable[RefundedShipping]) -> None:
    for part in parts:
        part.row.refunded += part.amount
        part.row.refunded_tax += part.tax


def add_refunded_duties(parts: Iterable[RefundedDuty]) -> None:
    for part in parts:
        part.line.refunded_duty += part.amount
        part.line.refunded_duty_tax += part.tax


def allocate_to_payments(amount: Decimal, open_balances: Iterable[PaymentBalance]) -> list[PaymentShare]:
    """Allocate an amount in the order's currency to payments, oldest first.

    The share of a fully refunded payment is exactly the refundable amount, so that no rounding difference remains.
    """
    shares = []
    for balance in open_balances:
        part = min(amount, balance.refundable_in_order)
        paid_back = convert_to_payment_currency(balance, part)
        shares.append(PaymentShare(balance.payment, paid_back, part, balance.refundable))
        amount -= part
    return shares


def convert_to_payment_currency(balance: PaymentBalance, amount: Decimal) -> Decimal:
    """Convert an amount from the order's currency to the payment's currency."""
    payment = balance.payment
    if not amount:
        return ZERO
    if amount == balance.refundable_in_order:
        return balance.refundable
    return min(round_money(amount * payment.amount / payment.shop_amount, payment.currency), balance.refundable)


def convert_to_order_currency(order: Order, balance: PaymentBalance, amount: Decimal) -> Decimal:
    """Convert an amount from the payment's to the order's currency. The full balance is converted without rounding."""
    payment = balance.payment
    if amount == balance.refundable:
        return balance.refundable_in_order
    return min(round_money(amount * payment.shop_amount / payment.amount, order.currency), balance.refundable_in_order)
