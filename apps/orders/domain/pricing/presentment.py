"""Calculate an order's amounts in the presentment currency, so that all sums equal their parts.

The order's total is converted. Discounts, taxes, shipping, duties and tips are converted one by one; the line items
share the rest of the total. When items are removed or refunded, the amounts of a row decrease by its share of them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from apps.core.money import ZERO, calculate_portion, get_minor_unit, round_money
from apps.orders.models import LineItem, Order, ShippingLine


def convert_part(order: Order, converted: Decimal, part: Decimal, whole: Decimal) -> Decimal:
    """Return the presentment amount of a part of ``whole``. ``converted`` is the presentment amount of ``whole``."""
    if not order.is_multi_currency:
        return part
    return round_money(converted * part / whole, order.presentment_currency) if whole else ZERO


def convert_rest(order: Order, converted: Decimal, rest: Decimal, whole: Decimal) -> Decimal:
    """Return the presentment amount that remains of an amount after the rest of it is removed or refunded."""
    return converted - convert_part(order, converted, whole - rest, whole)


@dataclass(frozen=True, slots=True)
class PresentmentLine:
    """The presentment amounts of the first ``quantity`` items of a line item. ``net_price`` is for all items."""

    order: Order
    line: LineItem
    net_price: Decimal

    def get_subtotal(self, quantity: int) -> Decimal:
        net_price = self.line.price * quantity - self._get_portion(self.line.discount, quantity)
        return convert_rest(self.order, self.net_price, net_price, self.line.net_price)

    def get_discount(self, quantity: int) -> Decimal:
        return self._convert_portion(self.line.discount, quantity)

    def get_tax(self, quantity: int) -> Decimal:
        return self._convert_portion(self.line.tax, quantity)

    def _convert_portion(self, amount: Decimal, quantity: int) -> Decimal:
        portion = self._get_portion(amount, quantity)
        return convert_rest(self.order, self.order.to_presentment(amount), portion, amount)

    def _get_portion(self, amount: Decimal, quantity: int) -> Decimal:
        return calculate_portion(amount, quantity, self.line.quantity, self.order.currency)


def get_presentment_lines(
    order: Order, lines: Sequence[LineItem], shipping: Sequence[ShippingLine]
) -> dict[int, PresentmentLine]:
    """Return the lines with their presentment amounts, keyed by ``id`` of the line.

    The line with the highest price has the difference between the converted total and the sum of the converted parts.
    """
    convert = order.to_presentment
    nets = {id(line): convert(line.gross_price) - convert(line.discount) for line in lines}
    if order.is_multi_currency and (largest := max(lines, key=lambda line: line.net_price, default=None)):
        other_amounts = _sum(get_shipping_price(order, row) for row in shipping) + convert(order.total_tip_received)
        other_amounts += _sum(convert(line.duty) for line in lines)
        if not order.taxes_included:
            other_amounts += get_tax(order, lines, shipping)
        difference = convert(order.total_price) - other_amounts - _sum(nets.values())
        if largest.net_price:
            nets[id(largest)] = max(nets[id(largest)] + difference, ZERO)
    return {id(line): PresentmentLine(order, line, nets[id(line)]) for line in lines}


def get_rounding_tolerance(order: Order, lines: Sequence[LineItem], shipping: Sequence[ShippingLine]) -> Decimal:
    """Return how much an edit can change the presentment price of the line item with the highest price.

    The price contains the difference between the converted total and the sum of all amounts that are converted one by
    one. Each of them is rounded by at most half a minor unit, before and after the edit.
    """
    count = 2 + 5 * len(lines) + 3 * len(shipping)
    return get_minor_unit(order.presentment_currency) * count


def get_tax(order: Order, lines: Iterable[LineItem], shipping: Iterable[ShippingLine]) -> Decimal:
    rows = [*((line.tax, line.duty_tax) for line in lines), *((row.tax, ZERO) for row in shipping)]
    return _sum(order.to_presentment(tax) for pair in rows for tax in pair)


def get_shipping_price(order: Order, row: ShippingLine) -> Decimal:
    """Return the price of a shipping line after discounts."""
    return order.to_presentment(row.price) - order.to_presentment(row.discount)


def get_unrefunded_shipping(order: Order, row: ShippingLine) -> tuple[Decimal, Decimal]:
    """Return the price after discounts and the tax of a shipping line, without the refunded parts."""
    price = convert_rest(order, get_shipping_price(order, row), row.net_price - row.refunded, row.net_price)
    return price, convert_rest(order, order.to_presentment(row.tax), row.tax - row.refunded_tax, row.tax)


def get_unrefunded_duty(order: Order, line: LineItem) -> tuple[Decimal, Decimal]:
    """Return the duties and the taxes on duties of a line, without the refunded parts."""
    duty = convert_rest(order, order.to_presentment(line.duty), line.duty - line.refunded_duty, line.duty)
    tax = order.to_presentment(line.duty_tax)
    return duty, convert_rest(order, tax, line.duty_tax - line.refunded_duty_tax, line.duty_tax)


def set_presentment_totals(
    order: Order, lines: Sequence[LineItem], shipping: Sequence[ShippingLine], *, is_void: bool
) -> None:
    """Set the presentment amounts of the order's totals. ``is_void`` is the result of ``totals.is_void``."""
    if not order.is_multi_currency:
        return
    convert = order.to_presentment
    presentment_lines = get_presentment_lines(order, lines, shipping).values()
    shipped = [row for row in shipping if not row.is_removed]
    shipping_left = [get_unrefunded_shipping(order, row) for row in shipped]
    duties_left = [] if is_void else [get_unrefunded_duty(order, line) for line in lines]
    line_discounts = _sum(convert(line.discount) for line in lines)
    totals = {
        "subtotal_price": _sum(row.net_price for row in presentment_lines),
        "total_discounts": line_discounts + _sum(convert(row.discount) for row in shipping),
        "total_shipping_price": _sum(convert(row.price) for row in shipping),
        "total_tax": get_tax(order, lines, shipping),
        "total_duties": _sum(convert(line.duty) for line in lines),
        "current_subtotal_price": _sum(row.get_subtotal(row.line.current_quantity) for row in presentment_lines),
        "current_total_discounts": _sum(row.get_discount(row.line.current_quantity) for row in presentment_lines)
        + _sum(convert(row.discount) for row in shipped),
        "current_total_tax": _sum(row.get_tax(row.line.current_quantity) for row in presentment_lines)
        + _sum(tax for _price, tax in [*shipping_left, *duties_left]),
        "current_total_duties": _sum(duty for duty, _tax in duties_left),
    }
    totals["total_line_items_price"] = totals["subtotal_price"] + line_discounts
    tip = convert(order.total_tip_received)
    totals["total_price"] = totals["subtotal_price"] + totals["total_duties"] + tip
    totals["total_price"] += _sum(get_shipping_price(order, row) for row in shipping)
    current = totals["current_subtotal_price"] + totals["current_total_duties"] + (ZERO if is_void else tip)
    current += _sum(price for price, _tax in shipping_left) + order.get_presentment("refund_discrepancy")
    if not order.taxes_included:
        totals["total_price"] += totals["total_tax"]
        current += totals["current_total_tax"]
    totals["current_total_price"] = max(current, ZERO)
    order.set_presentment(**totals)


def _sum(amounts: Iterable[Decimal]) -> Decimal:
    return sum(amounts, ZERO)
