"""Calculate the amounts of invoices and credit notes, in the currency of the order.

An invoice is for what was sold: the ordered items without items that were removed from the order without a refund. So
an invoice is the same before and after a refund, which has its own credit note. The taxes come from the stored tax
lines, as in the tax report: the taxes of an invoice are the order's current taxes plus the taxes of all refunds.
"""

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from decimal import Decimal

from apps.core.money import ZERO, calculate_portion
from apps.core.types import ReadOnlyAttrs
from apps.orders.domain.pricing import totals
from apps.orders.domain.pricing.taxes import sum_taxes
from apps.orders.domain.selectors import get_line_items, get_shipping_lines
from apps.orders.models import LineItem, Order, ShippingLine
from apps.refunds.models import OrderAdjustment, Refund

# The title and rate of amounts without a tax.
_UNTAXED = ("", "")


@dataclass(frozen=True, slots=True)
class Row:
    """A row with a price. ``amount`` is the price after discounts, with the tax if the order's prices include taxes.

    Attributes:
        label: The key of a label for rows without a name, such as ``shipping``.
        taxes: The tax lines of the row. Only title and rate are used.
    """

    amount: Decimal
    tax: Decimal
    taxes: Sequence[ReadOnlyAttrs]
    label: str = ""
    name: str = ""
    sku: str = ""
    quantity: int = 0
    price: Decimal = ZERO
    discount: Decimal = ZERO


@dataclass(frozen=True, slots=True)
class TaxSum:
    """The tax of a title and rate. ``base`` is the amount without taxes on which the tax is due.

    Amounts without a tax have neither title nor rate.
    """

    title: str
    rate: str
    base: Decimal
    price: Decimal


@dataclass(frozen=True, slots=True)
class DocumentAmounts:
    """The amounts of a document. ``lines``, ``others`` and, unless included, ``taxes`` add up to ``total``."""

    lines: Sequence[Row]
    others: Sequence[Row]
    taxes: Sequence[TaxSum]
    total: Decimal
    presentment_total: Decimal


def get_invoice_amounts(order: Order) -> DocumentAmounts:
    """Return the amounts that an invoice for the order would have now."""
    lines, shipping = get_line_items(order), get_shipping_lines(order)
    sold, sold_lines, sold_shipping = _undo_refunds(order, lines, shipping)
    rows = [_create_line_row(order, line) for line in sold_lines if line.current_quantity]
    others = [
        Row(row.net_price, row.tax, _choose_taxes(order, row.tax_lines), "shipping", row.title)
        for row in sold_shipping
        if not row.is_removed
    ]
    others += [
        Row(
            Decimal(duty["price"]),
            sum((Decimal(tax["price"]) for tax in duty["tax_lines"]), ZERO),
            _choose_taxes(order, duty["tax_lines"]),
            "duties",
        )
        for line in sold_lines
        for duty in line.duties
    ]
    if order.total_tip_received:
        others.append(Row(order.total_tip_received, ZERO, (), "tip"))
    stored_taxes = sold.tax_lines if sold.current_tax_lines is None else sold.current_tax_lines
    return DocumentAmounts(
        lines=rows,
        others=others,
        taxes=_sum_by_rate(order, [*rows, *others], stored_taxes),
        total=sold.current_total_price,
        presentment_total=sold.get_presentment("current_total_price"),
    )


def _undo_refunds(
    order: Order, lines: Sequence[LineItem], shipping: Sequence[ShippingLine]
) -> tuple[Order, list[LineItem], list[ShippingLine]]:
    """Return unsaved copies as if nothing had been refunded. Their current totals are the totals of what was sold."""
    sold_lines, sold_shipping = [copy(line) for line in lines], [copy(row) for row in shipping]
    for line in sold_lines:
        line.current_quantity += line.refunded_quantity
        line.refunded_duty = line.refunded_duty_tax = ZERO
        line.duties = [{**duty, "refunded_tax": "0"} for duty in line.duties]
    for row in sold_shipping:
        row.is_removed = row.is_removed and not row.refunded
        row.refunded = row.refunded_tax = ZERO
    sold = copy(order)
    sold.refund_discrepancy = ZERO
    sold.set_presentment(refund_discrepancy=ZERO)
    totals.set_current_totals(sold, sold_lines, sold_shipping)
    return sold, sold_lines, sold_shipping


def _choose_taxes(order: Order, taxes: Sequence[ReadOnlyAttrs], *, is_taxable: bool = True) -> Sequence[ReadOnlyAttrs]:
    """Return the taxes that a row really has. Rows without taxes can have tax lines with a price of zero."""
    has_taxes = is_taxable and not order.tax_exempt
    return [tax for tax in taxes if has_taxes or Decimal(tax["price"]) or not Decimal(tax["rate"])]


def _create_line_row(order: Order, line: LineItem) -> Row:
    def get_portion(amount: Decimal) -> Decimal:
        return calculate_portion(amount, line.current_quantity, line.quantity, order.currency)

    discount = get_portion(line.discount)
    return Row(
        amount=line.price * line.current_quantity - discount,
        tax=get_portion(line.tax),
        taxes=_choose_taxes(order, line.tax_lines, is_taxable=line.taxable),
        name=line.name,
        sku=line.sku,
        quantity=line.current_quantity,
        price=line.price,
        discount=discount,
    )


def get_credit_note_amounts(refund: Refund) -> DocumentAmounts:
    """Return the amounts that a credit note for the refund would have."""
    order = refund.order
    refunded_items = refund.refund_line_items.select_related("line_item").order_by("line_item__position", "pk")
    lines = [
        Row(
            item.subtotal,
            item.total_tax,
            _choose_taxes(order, item.tax_lines, is_taxable=item.line_item.taxable),
            name=item.line_item.name,
            sku=item.line_item.sku,
            quantity=item.quantity,
            price=item.line_item.price,
            discount=item.line_item.price * item.quantity - item.subtotal,
        )
        for item in refunded_items
    ]
    shipping = list(refund.refund_shipping_lines.select_related("shipping_line").order_by("pk"))
    duties = list(refund.duties.order_by("pk"))
    others = [
        Row(row.amount, row.tax, _choose_taxes(order, row.tax_lines), "shipping", row.shipping_line.title)
        for row in shipping
    ]
    others += [Row(row.amount, row.tax, _choose_taxes(order, row.tax_lines), "duties") for row in duties]
    withheld = list(refund.order_adjustments.filter(kind=OrderAdjustment.Kind.REFUND_DISCREPANCY))
    if difference := -sum((row.amount for row in withheld), ZERO):
        others.append(Row(difference, ZERO, (), "difference"))
    rows = [*lines, *others]
    presentment = [
        *((row.presentment_subtotal, row.presentment_tax) for row in refunded_items),
        *((row.presentment_amount, row.presentment_tax) for row in shipping),
        *((row.presentment_amount, row.presentment_tax) for row in duties),
    ]
    included = order.taxes_included
    presentment_total = sum(
        ((price or ZERO) + (ZERO if included else tax or ZERO) for price, tax in presentment),
        -sum((row.presentment_amount or ZERO for row in withheld), ZERO),
    )
    total = sum((row.amount + (ZERO if included else row.tax) for row in rows), ZERO)
    return DocumentAmounts(
        lines=lines,
        others=others,
        taxes=_sum_by_rate(order, rows, refund.tax_lines),
        total=total,
        presentment_total=presentment_total if order.is_multi_currency else total,
    )


def _sum_by_rate(order: Order, rows: Iterable[Row], taxes: Sequence[ReadOnlyAttrs]) -> list[TaxSum]:
    """Return the taxes by title and rate with their bases, and the sum of the amounts without a tax."""
    bases: dict[tuple[str, str], Decimal] = {}
    for row in rows:
        net = row.amount - (row.tax if order.taxes_included else ZERO)
        for key in dict.fromkeys((tax["title"], tax["rate"]) for tax in row.taxes) or [_UNTAXED]:
            bases[key] = bases.get(key, ZERO) + net
    sums = [
        TaxSum(tax["title"], tax["rate"], bases.pop((tax["title"], tax["rate"]), ZERO), Decimal(tax["price"]))
        for tax in sum_taxes(taxes)
    ]
    sums = [tax for tax in sums if tax.base or tax.price]
    untaxed = bases.get(_UNTAXED, ZERO)
    return [*sums, TaxSum(*_UNTAXED, untaxed, ZERO)] if sums and untaxed else sums
