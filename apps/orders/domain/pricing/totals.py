"""Calculate the totals of an order, and format them in the shop currency or in the presentment currency.

The functions set the totals without saving the order. Totals sent by clients are only compared with the results.
"""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial

from django.utils.translation import gettext as _

from apps.core.i18n import formats
from apps.core.i18n.error_messages import at_most
from apps.core.i18n.messages import Amount, define_message
from apps.core.money import MAX_AMOUNT, ZERO, calculate_portion, format_decimal
from apps.core.types import Errors
from apps.orders.domain.pricing.presentment import set_presentment_totals
from apps.orders.domain.pricing.taxes import get_current_taxes
from apps.orders.models import LineItem, Order, ShippingLine

_TOO_LARGE = define_message("orders.too_large", "must be less than {limit}")
_RATE_TOO_LARGE = define_message("orders.rate_too_large", "results in amounts of {limit} or more")

# The totals that clients may send, to be compared with the calculated totals.
CHECKED_TOTALS = ("total_line_items_price", "total_discounts", "subtotal_price", "total_tax", "total_price")
TOTALS = (*CHECKED_TOTALS, "total_shipping_price")
# The totals without canceled and returned items.
CURRENT_TOTAL_COLUMNS = (
    "current_total_discounts",
    "current_subtotal_price",
    "current_total_tax",
    "current_total_duties",
    "current_total_price",
    "current_tax_lines",
    "total_removed",
)
# All columns calculated from line items and shipping lines.
TOTAL_COLUMNS = (*TOTALS, "total_duties", "total_weight", *CURRENT_TOTAL_COLUMNS)
# The largest weight in grams that the column can store.
MAX_WEIGHT = 2**63 - 1
_MUST_BE = define_message("orders.must_be", "must be {amount}")
MoneyFormatter = Callable[[Decimal], str]


def set_totals(order: Order, lines: Sequence[LineItem], shipping: Sequence[ShippingLine]) -> None:
    """Set the order's original and current totals (``TOTAL_COLUMNS``)."""
    rows: list[LineItem | ShippingLine] = [*lines, *shipping]
    order.total_line_items_price = sum((line.gross_price for line in lines), ZERO)
    order.total_discounts = sum((row.discount for row in rows), ZERO)
    order.subtotal_price = sum((line.net_price for line in lines), ZERO)
    order.total_shipping_price = sum((row.price for row in shipping), ZERO)
    order.total_tax = sum((row.tax for row in rows), ZERO) + sum((line.duty_tax for line in lines), ZERO)
    order.total_duties = sum((line.duty for line in lines), ZERO)
    order.total_weight = sum(line.grams * line.quantity for line in lines)
    order.total_price = _payable(order, order.subtotal_price + order.total_duties, shipping, order.total_tax)
    set_current_totals(order, lines, shipping)


def is_void(order: Order, lines: Sequence[LineItem]) -> bool:
    """Return True for a canceled order without items, which has no tip and no duties."""
    return order.cancelled_at is not None and not any(line.current_quantity for line in lines)


def set_current_totals(order: Order, lines: Sequence[LineItem], shipping: Sequence[ShippingLine]) -> None:
    def of(line: LineItem, amount: Decimal) -> Decimal:
        return calculate_portion(amount, line.current_quantity, line.quantity, order.currency)

    remaining_shipping = [row for row in shipping if not row.is_removed]
    discounts = [of(line, line.discount) for line in lines]
    order.current_total_discounts = sum([*discounts, *(row.discount for row in remaining_shipping)], ZERO)
    order.current_subtotal_price = sum((line.price * line.current_quantity for line in lines), ZERO) - sum(
        discounts, ZERO
    )
    has_none = is_void(order, lines)
    dutiable = [] if has_none else lines
    order.current_total_duties = sum((line.duty - line.refunded_duty for line in dutiable), ZERO)
    taxes = [*(of(line, line.tax) for line in lines), *(row.tax - row.refunded_tax for row in remaining_shipping)]
    order.current_total_tax = sum([*taxes, *(line.duty_tax - line.refunded_duty_tax for line in dutiable)], ZERO)
    order.current_tax_lines = get_current_taxes(order, lines, shipping, is_void=has_none)
    items_total = order.current_subtotal_price + order.current_total_duties
    payable = _payable(order, items_total, remaining_shipping, order.current_total_tax)
    credited = sum((row.refunded for row in remaining_shipping), order.total_tip_received if has_none else ZERO)
    # The refund of an item and its later cancellation both reduce the total, but the total must not become negative.
    order.current_total_price = max(payable - credited + order.refund_discrepancy, ZERO)
    order.total_removed = sum((_removed_amount(order, line) for line in lines), ZERO)
    set_presentment_totals(order, lines, shipping, is_void=has_none)


def _removed_amount(order: Order, line: LineItem) -> Decimal:
    """Return the price of the items that were removed from the order without a refund."""
    kept_quantity = line.current_quantity + line.refunded_quantity

    def of(amount: Decimal) -> Decimal:
        return amount - calculate_portion(amount, kept_quantity, line.quantity, order.currency)

    taxes = ZERO if order.taxes_included else of(line.tax)
    return line.price * (line.quantity - kept_quantity) - of(line.discount) + taxes


def _payable(order: Order, items_total: Decimal, shipping: Sequence[ShippingLine], tax: Decimal) -> Decimal:
    shipping_total = sum((row.net_price for row in shipping), ZERO)
    return items_total + shipping_total + order.total_tip_received + (ZERO if order.taxes_included else tax)


def check_limits(order: Order) -> Errors:
    """Return errors for totals that are too large to store or to convert to the presentment currency."""
    largest = max(getattr(order, name) for name in (*TOTALS, "total_duties"))
    errors: Errors = {}
    if largest >= MAX_AMOUNT:
        errors["total_price"] = [_TOO_LARGE(limit=Amount(MAX_AMOUNT))]
    elif largest * order.exchange_rate >= MAX_AMOUNT:
        errors["exchange_rate"] = [_RATE_TOO_LARGE(limit=Amount(MAX_AMOUNT))]
    if order.total_weight > MAX_WEIGHT:
        errors["total_weight"] = [at_most(MAX_WEIGHT)]
    return errors


def compare_totals(order: Order, totals: Mapping[str, Decimal]) -> Errors:
    return {
        name: [_MUST_BE(amount=Amount(format_decimal(getattr(order, name), order.currency)))]
        for name, amount in totals.items()
        if amount != getattr(order, name)
    }


def get_shop_formatter(order: Order) -> MoneyFormatter:
    return lambda amount: formats.format_money(amount, order.currency)


def get_presentment_formatter(order: Order) -> MoneyFormatter:
    """Return a formatter of amounts that are in the presentment currency."""
    return lambda amount: formats.format_money(amount, order.presentment_currency)


def format_total(order: Order) -> list[str]:
    money = get_shop_formatter(order)
    now = [] if order.current_total_price == order.total_price else [order.current_total_price]
    return [money(order.total_price), *(_("now {money}").format(money=money(amount)) for amount in now)]


def format_totals(order: Order, *, in_presentment: bool = False) -> list[tuple[str, str]]:
    """Return the order totals with labels. Optional rows with a zero amount are omitted."""
    get = order.get_presentment if in_presentment else partial(getattr, order)
    money = get_presentment_formatter(order) if in_presentment else get_shop_formatter(order)
    codes = ", ".join(code["code"] for code in order.discount_codes)
    current, removed = get("current_total_price"), get("current_total_price") - get("total_price")
    rows = [
        (_("Subtotal"), get("total_line_items_price"), True),
        (_("Discounts ({codes})").format(codes=codes) if codes else _("Discounts"), -get("total_discounts"), False),
        (_("Shipping"), get("total_shipping_price"), False),
        (_("Tax (included)") if order.taxes_included else _("Tax"), get("total_tax"), False),
        (_("Duties"), get("total_duties"), False),
        (_("Tip"), get("total_tip_received"), False),
        (_("Total"), get("total_price"), True),
        *([(_("Removed or returned"), removed, True), (_("Current total"), current, True)] if removed else []),
        (_("Paid"), get("total_paid"), True),
        (_("Refunded"), -get("total_refunded"), False),
    ]
    return [(label, money(amount)) for label, amount, is_required in rows if is_required or amount]
