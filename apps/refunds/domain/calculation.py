"""What a refund comes to: the worth of units, duties and shipping, and the payments it goes back to, to the cent.

Pure functions on rows of an order that are at hand, saved or not; nothing is read and nothing written. What refunds
gave back before counts: an amount is shared over the units of a line by cumulative rounding, and a refund takes the
part between what is left before it and what is left after it. So units refunded one by one come to the same as all at
once.

Amounts are in the order's currency; only what goes back to a payment is in that payment's own.
Rule: decisions, Refunds (Calculate, Arithmetic).
"""

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from decimal import Decimal

from apps.ground.attrs import Given
from apps.ground.money import ZERO, portion, rounded
from apps.orders.domain import levies, pricing
from apps.orders.models import LineItem, Order, ShippingLine, Transaction

PAYS = frozenset({Transaction.Kind.SALE, Transaction.Kind.CAPTURE})
# Refunds that gave money back, or may yet.
LIVING = frozenset({Transaction.Status.SUCCESS, Transaction.Status.PENDING})


@dataclass(frozen=True, slots=True)
class LinePart:
    """Units of a line, and what they are worth.

    Attributes:
        line: Of the order.
        units: How many.
        discounted: Their price with the discounts of the line alone.
        cart_discount: Their share of the order's discounts.
        tax: Their share of the line's taxes.
    """

    line: LineItem
    units: int
    discounted: Decimal
    cart_discount: Decimal
    tax: Decimal

    @property
    def subtotal(self) -> Decimal:
        """What was paid for the units, with all discounts."""
        return self.discounted - self.cart_discount


@dataclass(frozen=True, slots=True)
class ShippingPart:
    """A part of what a shipping line cost."""

    row: ShippingLine
    amount: Decimal
    tax: Decimal


@dataclass(frozen=True, slots=True)
class DutyWanted:
    """A duty of which something goes back.

    Attributes:
        line: Whose it is.
        duty: As the line keeps it.
        given: What refunds gave back of it before, and of the taxes on it.
        is_proportional: As much as the units of its line make up that the refund names; else all that is left of it.
    """

    line: LineItem
    duty: Given
    given: tuple[Decimal, Decimal] = (ZERO, ZERO)
    is_proportional: bool = False

    @property
    def left(self) -> tuple[Decimal, Decimal]:
        """What of it, and of the taxes on it, can still go back."""
        return Decimal(self.duty["price"]) - self.given[0], levies.sum_of(self.duty["tax_lines"]) - self.given[1]


@dataclass(frozen=True, slots=True)
class DutyPart:
    """A part of a duty, and of the taxes on it."""

    line: LineItem
    duty_id: int
    amount: Decimal
    tax: Decimal


@dataclass(frozen=True, slots=True)
class Balance:
    """A payment, and what of it can still go back: in its own currency, and in the order's."""

    payment: Transaction
    left: Decimal
    left_in_order: Decimal


@dataclass(frozen=True, slots=True)
class Share:
    """What goes back to one payment, in its currency, and the same in the order's."""

    payment: Transaction
    amount: Decimal
    in_order: Decimal
    left: Decimal


@dataclass(frozen=True, slots=True)
class Calculation:
    """A refund, worked out.

    Attributes:
        lines: The units.
        shipping: What of the shipping.
        duties: What of the duties.
        worth: What all of it comes to for the buyer.
        due: What the buyer has paid too much once units, duties and shipping are gone.
        suggested: What of the worth goes back: never more than is due.
        shares: The payments that it goes back to, oldest first, also those that get nothing.
    """

    lines: Sequence[LinePart]
    shipping: Sequence[ShippingPart]
    duties: Sequence[DutyPart]
    worth: Decimal
    due: Decimal
    suggested: Decimal
    shares: Sequence[Share]

    def discrepancy(self, given: Decimal) -> Decimal:
        """What is kept of the suggested money (positive), or given beyond what is due (negative)."""
        if given < self.suggested:
            return self.suggested - given
        return min(self.due - given, ZERO)


def between(total: Decimal, more: int, fewer: int, of: int, currency: str) -> Decimal:
    """What the units make up of an amount that leave when of ``more`` only ``fewer`` stay."""
    return portion(total, more, of, currency) - portion(total, fewer, of, currency)


def line_part(line: LineItem, units: int, currency: str, *, before: int = 0) -> LinePart:
    """What units of a line are worth, after ``before`` others that the same refund names."""
    left = line.quantity - line.refunded_quantity - before

    def of(total: Decimal) -> Decimal:
        return between(total, left, left - units, line.quantity, currency)

    discount = of(line.discount)
    own = min(of(line.total_discount), discount)
    return LinePart(line, units, line.price * units - own, discount - own, of(line.tax))


def duty_part(wanted: DutyWanted, units: int, currency: str) -> DutyPart:
    """What goes back of a duty, where so many units of its line go back, none of which is taken off the line yet."""
    line, (price_left, tax_left) = wanted.line, wanted.left
    if not wanted.is_proportional:
        return DutyPart(line, wanted.duty["id"], price_left, tax_left)
    more = line.quantity - line.refunded_quantity

    def of(total: Decimal) -> Decimal:
        return between(total, more, more - units, line.quantity, currency)

    amount = min(of(Decimal(wanted.duty["price"])), price_left)
    return DutyPart(line, wanted.duty["id"], amount, min(of(levies.sum_of(wanted.duty["tax_lines"])), tax_left))


def shipping_left(rows: Iterable[ShippingLine]) -> Decimal:
    """What of the price of shipping can still go back, without its taxes."""
    return sum((pricing.net(row) - row.refunded for row in rows), ZERO)


def shipping_parts(rows: Iterable[ShippingLine], amount: Decimal, currency: str) -> list[ShippingPart]:
    """Take an amount off the shipping lines, the first one first, each with its share of the tax.

    Args:
        rows: In their order.
        amount: At most what is left of them.
        currency: The order's.
    """
    parts = []
    for row in rows:
        net = pricing.net(row)
        taken = min(amount, net - row.refunded)
        upto = row.refunded + taken
        tax = max((rounded(row.tax * upto / net, currency) if net else row.tax) - row.refunded_tax, ZERO)
        if taken or (tax and not net):
            parts.append(ShippingPart(row, taken, tax))
        amount -= taken
    return parts


def worth_of(
    order: Order, lines: Iterable[LinePart], shipping: Iterable[ShippingPart], duties: Iterable[DutyPart]
) -> Decimal:
    """What the buyer gets for units, shipping and duties; taxes that prices include are in there already."""
    units = sum((with_tax(order, part.subtotal, part.tax) for part in lines), ZERO)
    sent = sum((with_tax(order, part.amount, part.tax) for part in shipping), ZERO)
    return units + sent + sum((with_tax(order, part.amount, part.tax) for part in duties), ZERO)


def with_tax(order: Order, amount: Decimal, tax: Decimal) -> Decimal:
    """What the buyer pays for an amount and its tax, which prices that include taxes have in there already."""
    return amount if order.taxes_included else amount + tax


def balances(known: Sequence[Transaction]) -> list[Balance]:
    """The payments of an order, oldest first, and what of each can still go back."""
    given: dict[int, Decimal] = {}
    for row in known:
        if row.kind == Transaction.Kind.REFUND and row.status in LIVING and row.parent is not None:
            given[id(row.parent)] = given.get(id(row.parent), ZERO) + row.shop_amount
    return [
        Balance(row, row.amount - row.refunded, max(row.shop_amount - given.get(id(row), ZERO), ZERO))
        for row in known
        if row.kind in PAYS and row.status == Transaction.Status.SUCCESS
    ]


def calculate(
    order: Order,
    every_line: Sequence[LineItem],
    every_shipping: Sequence[ShippingLine],
    known: Sequence[Transaction],
    *,
    units: Sequence[tuple[LineItem, int]] = (),
    shipping: Decimal = ZERO,
    duties: Sequence[DutyWanted] = (),
) -> Calculation:
    """Work out a refund.

    Args:
        order: Whose.
        every_line: All its lines.
        every_shipping: All its shipping lines, oldest first.
        known: All its transactions, oldest first, each with its parent as the same object.
        units: How many of which lines, at most what is left to refund of each; a line may come twice.
        shipping: How much of the price of shipping, at most what is left of it.
        duties: Of which duties something goes back; each once.
    """
    taken: dict[int, int] = {}
    parts = []
    for line, count in units:
        parts.append(line_part(line, count, order.currency, before=taken.get(id(line), 0)))
        taken[id(line)] = taken.get(id(line), 0) + count
    sent = shipping_parts(every_shipping, shipping, order.currency)
    customs = [duty_part(each, taken.get(id(each.line), 0), order.currency) for each in duties]
    worth = worth_of(order, parts, sent, customs)
    open_balances = balances(known)
    kept = sum((each.left_in_order for each in open_balances), ZERO)
    owed = current_total_after(order, every_line, every_shipping, parts=parts, sent=sent, customs=customs)
    due = max(kept - owed, ZERO)
    suggested = min(worth, due)
    return Calculation(parts, sent, customs, worth, due, suggested, spread(suggested, open_balances))


def current_total_after(
    order: Order,
    every_line: Sequence[LineItem],
    every_shipping: Sequence[ShippingLine],
    *,
    parts: Sequence[LinePart],
    sent: Sequence[ShippingPart],
    customs: Sequence[DutyPart],
) -> Decimal:
    """What the order would come to without the units, the shipping and the duties."""
    after = copy(order)
    lines = {id(line): copy(line) for line in every_line}
    rows = {id(row): copy(row) for row in every_shipping}
    take_off([(lines[id(part.line)], part.units) for part in parts])
    give_shipping([ShippingPart(rows[id(part.row)], part.amount, part.tax) for part in sent])
    give_duties([replace(part, line=lines[id(part.line)]) for part in customs])
    pricing.total_currently(after, list(lines.values()), list(rows.values()))
    return after.current_total_price


def take_off(units: Iterable[tuple[LineItem, int]]) -> None:
    """Note on lines that units are refunded: these are not in the order any more."""
    for line, count in units:
        line.refunded_quantity += count
        line.current_quantity = min(line.current_quantity, line.quantity - line.refunded_quantity)


def give_shipping(parts: Iterable[ShippingPart]) -> None:
    """Note on shipping lines what of them is given back."""
    for part in parts:
        part.row.refunded += part.amount
        part.row.refunded_tax += part.tax


def give_duties(parts: Iterable[DutyPart]) -> None:
    """Note on lines what of their duties is given back."""
    for part in parts:
        part.line.refunded_duty += part.amount
        part.line.refunded_duty_tax += part.tax


def spread(amount: Decimal, open_balances: Iterable[Balance]) -> list[Share]:
    """Share an amount of the order's currency over payments, the oldest first.

    All that is left of a payment goes back as all that is left of it, so that no roundings are left behind.
    """
    shares = []
    for each in open_balances:
        part = min(amount, each.left_in_order)
        shares.append(Share(each.payment, in_payment(each, part), part, each.left))
        amount -= part
    return shares


def in_payment(balance: Balance, amount: Decimal) -> Decimal:
    """An amount of the order's currency in a payment's."""
    payment = balance.payment
    if not amount:
        return ZERO
    if amount == balance.left_in_order:
        return balance.left
    return min(rounded(amount * payment.amount / payment.shop_amount, payment.currency), balance.left)


def in_order(order: Order, balance: Balance, amount: Decimal) -> Decimal:
    """An amount of a payment's currency in the order's; all that is left is all that is left."""
    payment = balance.payment
    if amount == balance.left:
        return balance.left_in_order
    return min(rounded(amount * payment.shop_amount / payment.amount, order.currency), balance.left_in_order)
