"""Calculate refunds: line items, duties, shipping, and the split of the total over payments.

The functions are pure: they work on loaded rows of an order, saved or not, and do not access the database.

Amounts are in the order's currency, except amounts refunded to a payment, which are in the payment's currency, and
amounts in the presentment currency. If all payments are in the presentment currency, the suggested refund is calculated
in this currency, and the amount in the order's currency follows from it. Rounding therefore leaves nothing behind.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from decimal import Decimal

from apps.core.money import ZERO, get_minor_unit, round_money, split_amount
from apps.core.types import Attrs
from apps.orders.domain.payments import PAYMENT_KINDS
from apps.orders.domain.pricing import totals
from apps.orders.domain.pricing.presentment import get_presentment_lines
from apps.orders.domain.pricing.taxes import sum_taxes
from apps.orders.models import LineItem, Order, ShippingLine, Transaction
from apps.refunds.domain.refunded_parts import (
    LineAmounts,
    LineBalance,
    PriceAndTax,
    RefundableDuty,
    RefundedDuty,
    RefundedLine,
    RefundedShipping,
    RefundedUnits,
    add_refunded_duties,
    add_refunded_shipping,
    allocate_shipping,
    calculate_duty,
    reduce_quantities,
)

# The statuses of refunds that have returned money or may still return money.
ACTIVE_STATUSES = frozenset({Transaction.Status.SUCCESS, Transaction.Status.PENDING})


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
class RefundLimits:
    """The limits of a refund, in one currency.

    Attributes:
        paid: The payments that have not been refunded.
        overpaid: The amount by which payments exceed the order's total without the refunded items, shipping and duties.
        suggested: The suggested refund: the price of the items, shipping and duties, but at most ``overpaid``.
    """

    paid: Decimal
    overpaid: Decimal
    suggested: Decimal

    def get_discrepancy(self, refunded: Decimal) -> Decimal:
        """Return the amount withheld from the suggestion (positive) or refunded beyond ``overpaid`` (negative)."""
        if refunded < self.suggested:
            return self.suggested - refunded
        return min(self.overpaid - refunded, ZERO)


@dataclass(frozen=True, slots=True)
class RefundCalculation:
    """A calculated refund.

    Attributes:
        total: The price of the items, shipping and duties, with taxes.
        limits: The limits in the order's currency.
        presentment_limits: The limits in the presentment currency if all payments are in it, otherwise None.
        shares: The suggested refund per payment, oldest first, including payments with nothing to refund.
    """

    order: Order
    lines: Sequence[RefundedLine]
    shipping: Sequence[RefundedShipping]
    duties: Sequence[RefundedDuty]
    total: Decimal
    limits: RefundLimits
    presentment_limits: RefundLimits | None
    balances: Sequence[PaymentBalance]
    shares: Sequence[PaymentShare]

    @property
    def suggested(self) -> Decimal:
        return self.limits.suggested

    @property
    def tax_lines(self) -> list[Attrs]:
        """Return the refunded taxes, added up by title and rate."""
        parts: list[RefundedLine | RefundedShipping | RefundedDuty] = [*self.lines, *self.shipping, *self.duties]
        return sum_taxes(tax for part in parts for tax in part.tax_lines)


@dataclass(frozen=True, slots=True)
class Settlement:
    """The refunded amounts of the payments, compared with the suggestion.

    Attributes:
        in_order: The refunded amounts in the order's currency.
        discrepancy: The difference from the suggestion, as ``RefundLimits.get_discrepancy`` returns it.
        presentment_discrepancy: The difference in the presentment currency.
    """

    in_order: Sequence[Decimal]
    discrepancy: Decimal
    presentment_discrepancy: Decimal


def calculate_total(
    order: Order, parts: Iterable[RefundedLine | RefundedShipping | RefundedDuty]
) -> tuple[Decimal, Decimal]:
    """Return the price of all parts in both currencies, with taxes if prices do not include taxes."""
    total = presentment_total = ZERO
    for part in parts:
        price = part.subtotal if isinstance(part, RefundedLine) else part.amount
        total += add_tax(order, price, part.tax)
        presentment_total += add_tax(order, *part.presentment)
    return total, presentment_total


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
    rows = get_presentment_lines(order, every_line, every_shipping)
    line_balances: dict[int, LineBalance] = {}
    quantities = Counter[int]()
    refunded_lines = []
    for part in units:
        key = id(part.line)
        if key not in line_balances:
            line_balances[key] = LineBalance.of(rows[key], (refunded or {}).get(part.line.pk))
        refunded_lines.append(line_balances[key].take(part))
        quantities[key] += part.quantity
    refunded_shipping = allocate_shipping(order, every_shipping, shipping)
    refunded_duties: list[RefundedDuty] = []
    for duty in duties:
        earlier = [part for part in refunded_duties if part.line is duty.line]
        before = PriceAndTax(
            duty.line.refunded_duty + sum((part.amount for part in earlier), ZERO),
            duty.line.refunded_duty_tax + sum((part.tax for part in earlier), ZERO),
        )
        refunded_duties.append(calculate_duty(order, duty, quantities[id(duty.line)], before))
    total, presentment_total = calculate_total(order, [*refunded_lines, *refunded_shipping, *refunded_duties])
    after = _copy_after_refund(
        order,
        every_line,
        every_shipping,
        units=units,
        refunded_shipping=refunded_shipping,
        refunded_duties=refunded_duties,
    )
    balances = get_payment_balances(transactions)
    paid = sum((balance.refundable_in_order for balance in balances), ZERO)
    overpaid = max(paid - after.current_total_price, ZERO)
    calculated = RefundCalculation(
        order,
        refunded_lines,
        refunded_shipping,
        refunded_duties,
        total,
        RefundLimits(paid, overpaid, min(total, overpaid)),
        None,
        balances,
        (),
    )
    if not _are_in_presentment(order, balances):
        return _suggest_in_order_currency(calculated)
    paid = sum((balance.refundable for balance in balances), ZERO)
    overpaid = max(paid - after.get_presentment("current_total_price"), ZERO)
    presentment_limits = RefundLimits(paid, overpaid, min(presentment_total, overpaid))
    return _suggest_in_presentment_currency(replace(calculated, presentment_limits=presentment_limits))


def _copy_after_refund(
    order: Order,
    every_line: Sequence[LineItem],
    every_shipping: Sequence[ShippingLine],
    *,
    units: Sequence[RefundedUnits],
    refunded_shipping: Sequence[RefundedShipping],
    refunded_duties: Sequence[RefundedDuty],
) -> Order:
    """Return a copy of the order with the current totals without the refunded items, shipping and duties."""
    after = copy(order)
    lines = {id(line): copy(line) for line in every_line}
    rows = {id(row): copy(row) for row in every_shipping}
    reduce_quantities([part._replace(line=lines[id(part.line)]) for part in units])
    add_refunded_shipping([replace(part, row=rows[id(part.row)]) for part in refunded_shipping])
    add_refunded_duties([replace(part, line=lines[id(part.line)]) for part in refunded_duties])
    totals.set_current_totals(after, list(lines.values()), list(rows.values()))
    return after


def _are_in_presentment(order: Order, balances: Iterable[PaymentBalance]) -> bool:
    """Return True if all payments are in a presentment currency other than the order's."""
    currencies = {balance.payment.currency for balance in balances}
    return order.is_multi_currency and currencies == {order.presentment_currency}


def _suggest_in_order_currency(calculated: RefundCalculation) -> RefundCalculation:
    """Split the suggested refund over the payments, oldest first.

    The share of a fully refunded payment is exactly the refundable amount. An amount that is too small for the
    currency of its payment cannot be refunded, so it is added to the next refund.
    """
    order, limits, shares = calculated.order, calculated.limits, []
    amount = limits.suggested
    if any(balance.refundable and balance.payment.currency != order.currency for balance in calculated.balances):
        owed_before = max(limits.paid - order.current_total_price, ZERO)
        if order.to_presentment(owed_before) <= get_minor_unit(order.presentment_currency):
            amount = min(amount + owed_before, limits.overpaid)
    for balance in calculated.balances:
        part = min(amount, balance.refundable_in_order)
        amount -= part
        paid_back = _convert_to_payment_currency(balance, part)
        shares.append(PaymentShare(balance.payment, paid_back, part if paid_back else ZERO, balance.refundable))
    limits = replace(limits, suggested=sum((share.in_order for share in shares), ZERO))
    return replace(calculated, limits=limits, shares=shares)


def _suggest_in_presentment_currency(calculated: RefundCalculation) -> RefundCalculation:
    assert calculated.presentment_limits is not None
    amount, amounts = calculated.presentment_limits.suggested, []
    for balance in calculated.balances:
        amounts.append(min(amount, balance.refundable))
        amount -= amounts[-1]
    suggested = _convert_total(calculated, calculated.presentment_limits.suggested)
    result = replace(calculated, limits=replace(calculated.limits, suggested=suggested))
    in_order = _convert_to_order_currency(result, amounts)
    shares = [
        PaymentShare(balance.payment, paid_back, part, balance.refundable)
        for balance, paid_back, part in zip(result.balances, amounts, in_order, strict=True)
    ]
    return replace(result, shares=shares)


def settle(calculated: RefundCalculation, amounts: Sequence[tuple[Transaction, Decimal]]) -> Settlement:
    """Convert refunded amounts of payments to the order's currency, and compare them with the suggestion."""
    order, by_payment = calculated.order, dict[int, list[Decimal]]()
    for payment, amount in amounts:
        by_payment.setdefault(id(payment), []).append(amount)
    sums = [sum(by_payment.get(id(balance.payment), ()), ZERO) for balance in calculated.balances]
    converted = _convert_to_order_currency(calculated, sums)
    in_order = {
        id(balance.payment): iter(split_amount(total, by_payment[id(balance.payment)], order.currency))
        for balance, total in zip(calculated.balances, converted, strict=True)
        if id(balance.payment) in by_payment
    }
    discrepancy = calculated.limits.get_discrepancy(sum(converted, ZERO))
    presentment_discrepancy = order.to_presentment(discrepancy)
    if calculated.presentment_limits is not None:
        presentment_discrepancy = calculated.presentment_limits.get_discrepancy(sum(sums, ZERO))
        if presentment_discrepancy > 0:
            discrepancy = max(discrepancy, ZERO)
        else:
            discrepancy = min(discrepancy, ZERO) if presentment_discrepancy else ZERO
    return Settlement([next(in_order[id(payment)]) for payment, _ in amounts], discrepancy, presentment_discrepancy)


def _convert_to_order_currency(calculated: RefundCalculation, amounts: Sequence[Decimal]) -> list[Decimal]:
    """Convert an amount for each payment. A payment that is refunded in full returns its whole remaining amount."""
    balances, order = calculated.balances, calculated.order
    full = [bool(amount) and amount == row.refundable for row, amount in zip(balances, amounts, strict=True)]
    if calculated.presentment_limits is None:
        rows = zip(balances, amounts, full, calculated.shares, strict=True)
        return [
            row.refundable_in_order if is_full else _convert_payment(order, row, amount, share)
            for row, amount, is_full, share in rows
        ]
    rest = _convert_total(calculated, sum(amounts, ZERO))
    rest -= sum((row.refundable_in_order for row, is_full in zip(balances, full, strict=True) if is_full), ZERO)
    weights = [ZERO if is_full else amount for amount, is_full in zip(amounts, full, strict=True)]
    parts = split_amount(max(rest, ZERO), weights, order.currency) if any(weights) else [ZERO] * len(weights)
    return [
        row.refundable_in_order if is_full else min(part, row.refundable_in_order)
        for row, part, is_full in zip(balances, parts, full, strict=True)
    ]


def _convert_total(calculated: RefundCalculation, amount: Decimal) -> Decimal:
    """Convert a refunded sum from the presentment currency to the order's currency, between the known limits."""
    limits, presentment_limits = calculated.limits, calculated.presentment_limits
    assert presentment_limits is not None
    known = {
        presentment_limits.suggested: limits.suggested,
        presentment_limits.overpaid: limits.overpaid,
        presentment_limits.paid: limits.paid,
        ZERO: ZERO,
    }
    if amount in known:
        return known[amount]
    least = max((known[limit] for limit in known if limit < amount), default=ZERO)
    most = min((known[limit] for limit in known if limit > amount), default=limits.paid)
    exact = amount * limits.paid / presentment_limits.paid
    return max(min(round_money(exact, calculated.order.currency), most), least)


def _convert_payment(order: Order, balance: PaymentBalance, amount: Decimal, share: PaymentShare) -> Decimal:
    """Convert an amount from the payment's to the order's currency. The suggested share is converted exactly."""
    payment = balance.payment
    if amount == share.amount:
        return share.in_order
    return min(round_money(amount * payment.shop_amount / payment.amount, order.currency), balance.refundable_in_order)


def _convert_to_payment_currency(balance: PaymentBalance, amount: Decimal) -> Decimal:
    """Convert an amount to the payment's currency, by converting the part that stays, so that nothing remains."""
    payment, left = balance.payment, balance.refundable_in_order - amount
    if not amount or not left:
        return balance.refundable if amount else ZERO
    kept = round_money(left * payment.amount / payment.shop_amount, payment.currency)
    return max(balance.refundable - max(kept, get_minor_unit(payment.currency)), ZERO)
