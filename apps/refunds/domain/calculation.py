"""Calculate refunds: line items, duties, shipping, and the split of the total over payments.

The functions are pure: they work on loaded rows of an order, saved or not, and do not access the database. Amounts are
allocated to the items of a line by cumulative rounding: a refund is the difference between the rounded remaining
amounts before and after the refund. Refunding items one by one therefore results in the same total as refunding all
items at once.

Amounts are in the order's currency, except amounts refunded to a payment, which are in the payment's currency.
"""

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from decimal import Decimal

from apps.core.money import ZERO, calculate_portion, round_money
from apps.core.types import ReadOnlyAttrs
from apps.orders.domain.payments import PAYMENT_KINDS
from apps.orders.domain.pricing import taxes, totals
from apps.orders.models import LineItem, Order, ShippingLine, Transaction

# The statuses of refunds that have returned money or may still return money.
ACTIVE_STATUSES = frozenset({Transaction.Status.SUCCESS, Transaction.Status.PENDING})


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


def calculate_line(line: LineItem, units: int, currency: str, *, before: int = 0) -> RefundedLine:
    """Calculate the refund of ``units`` items of a line. The refund already contains ``before`` items of this line."""
    refundable = line.quantity - line.refunded_quantity - before

    def of(total: Decimal) -> Decimal:
        return calculate_portion_between(total, refundable, refundable - units, line.quantity, currency)

    discount = of(line.discount)
    own = min(of(line.total_discount), discount)
    return RefundedLine(line, units, line.price * units - own, discount - own, of(line.tax))


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
    units: Sequence[tuple[LineItem, int]] = (),
    shipping: Decimal = ZERO,
    duties: Sequence[RefundableDuty] = (),
) -> RefundCalculation:
    """Calculate a refund from all rows of an order. Shipping lines and transactions are sorted, oldest first.

    ``parent`` of a transaction must refer to an object in ``transactions``. A line may occur more than once in
    ``units``, and a duty only once in ``duties``. The quantities and the shipping amount must be refundable.
    """
    quantities: dict[int, int] = {}
    refunded_lines = []
    for line, count in units:
        refunded_lines.append(calculate_line(line, count, order.currency, before=quantities.get(id(line), 0)))
        quantities[id(line)] = quantities.get(id(line), 0) + count
    refunded_shipping = allocate_shipping(every_shipping, shipping, order.currency)
    refunded_duties = [calculate_duty(duty, quantities.get(id(duty.line), 0), order.currency) for duty in duties]
    worth = calculate_total(order, refunded_lines, refunded_shipping, refunded_duties)
    open_balances = get_payment_balances(transactions)
    net_paid = sum((balance.refundable_in_order for balance in open_balances), ZERO)
    new_total = calculate_new_total(
        order,
        every_line,
        every_shipping,
        refunded_lines=refunded_lines,
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
    refunded_lines: Sequence[RefundedLine],
    refunded_shipping: Sequence[RefundedShipping],
    refunded_duties: Sequence[RefundedDuty],
) -> Decimal:
    """Return the order's current total without the refunded items, shipping and duties."""
    after = copy(order)
    lines = {id(line): copy(line) for line in every_line}
    rows = {id(row): copy(row) for row in every_shipping}
    reduce_quantities([(lines[id(part.line)], part.quantity) for part in refunded_lines])
    add_refunded_shipping([RefundedShipping(rows[id(part.row)], part.amount, part.tax) for part in refunded_shipping])
    add_refunded_duties([replace(part, line=lines[id(part.line)]) for part in refunded_duties])
    totals.set_current_totals(after, list(lines.values()), list(rows.values()))
    return after.current_total_price


def reduce_quantities(units: Iterable[tuple[LineItem, int]]) -> None:
    """Update the refunded and current quantities of lines after a refund of items."""
    for line, count in units:
        line.refunded_quantity += count
        line.current_quantity = max(line.current_quantity - count, 0)


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
