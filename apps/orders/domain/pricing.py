"""Calculate the amounts of an order: discounts allocated to its lines, taxes and totals.

The functions set the amounts without saving the rows. Totals sent by clients are only compared with the results.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.ground.error_messages import INVALID, at_most
from apps.ground.languages import localize_amount_strictly
from apps.ground.money import (
    MAX_AMOUNT,
    ZERO,
    calculate_portion,
    format_decimal,
    format_plain,
    has_valid_precision,
    round_money,
    split_amount,
)
from apps.ground.stored_messages import register_message
from apps.ground.types import Errors, ReadOnlyAttrs
from apps.orders.domain import taxes_and_duties
from apps.orders.models import LineItem, Order, ShippingLine

CODE_TYPES = ("fixed_amount", "percentage", "shipping")
# The totals that clients may send, to be compared with the calculated totals.
CHECKED_TOTALS = ("total_line_items_price", "total_discounts", "subtotal_price", "total_tax", "total_price")
TOTALS = (*CHECKED_TOTALS, "total_shipping_price")
# All columns calculated from line items and shipping lines.
TOTAL_COLUMNS = (
    *TOTALS,
    "total_duties",
    "total_weight",
    "current_total_discounts",
    "current_subtotal_price",
    "current_total_tax",
    "current_total_duties",
    "current_total_price",
    "total_removed",
)
# The largest weight in grams that the column can store.
MAX_WEIGHT = 2**63 - 1
_MUST_ADD_UP = register_message(
    gettext_noop("must add up to {total}, the sum of all taxes on items, shipping and duties"),
    total=localize_amount_strictly,
)
_MUST_BE = register_message(gettext_noop("must be {amount}"), amount=localize_amount_strictly)
PricedRow = LineItem | ShippingLine


def price_order(
    order: Order,
    lines: Sequence[LineItem],
    shipping: Sequence[ShippingLine],
    *,
    codes: Sequence[ReadOnlyAttrs] = (),
    taxes: Sequence[ReadOnlyAttrs] = (),
) -> Errors:
    """Set all amounts of an order and its lines.

    Args:
        order: The order, with its currency. This function sets totals, discounts and tax lines.
        lines: Lines with price, quantity, ``total_discount``, ``tax_lines`` (``title``, ``rate``, optional ``price``)
            and ``duties`` in the format of the request body (see ``taxes_and_duties``).
        shipping: Shipping lines with price and ``tax_lines``.
        codes: Discount codes, each with ``code``, ``amount`` (in percent for percentages) and ``type``.
        taxes: Taxes on the whole order, in the format of ``tax_lines``. They are allocated to taxable lines if no line,
            shipping line or duty has taxes.

    Returns:
        The errors as ``{field: [messages]}``.
    """
    errors = _check_decimals(order, lines, shipping, codes, taxes)
    if errors:
        return errors
    errors |= _discount_lines(order, lines)
    errors |= _apply_codes(order, lines, shipping, codes)
    errors |= _complete_taxes(order, lines, shipping, taxes)
    if not errors:
        set_totals(order, lines, shipping)
        errors |= check_limits(order)
    return errors


def get_gross_price(row: PricedRow) -> Decimal:
    """Return the price of a row without discounts."""
    return row.price * row.quantity if isinstance(row, LineItem) else row.price


def get_net_price(row: PricedRow) -> Decimal:
    """Return the price of a row after discounts."""
    return get_gross_price(row) - row.discount


def _check_decimals(
    order: Order,
    lines: Sequence[LineItem],
    shipping: Sequence[ShippingLine],
    codes: Sequence[ReadOnlyAttrs],
    taxes: Sequence[ReadOnlyAttrs],
) -> Errors:
    """Return errors for amounts with more decimals than the currency has."""
    amounts: dict[str, Decimal | None] = {"total_tip_received": order.total_tip_received}
    for index, line in enumerate(lines):
        amounts |= {f"line_items.{index}.price": line.price, f"line_items.{index}.total_discount": line.total_discount}
        amounts |= taxes_and_duties.get_tax_prices(f"line_items.{index}.tax_lines", line.tax_lines)
        amounts |= taxes_and_duties.get_duty_amounts(f"line_items.{index}.duties", line.duties)
    for index, row in enumerate(shipping):
        amounts[f"shipping_lines.{index}.price"] = row.price
        amounts |= taxes_and_duties.get_tax_prices(f"shipping_lines.{index}.tax_lines", row.tax_lines)
    for index, code in enumerate(codes):
        if code["type"] != "percentage":
            amounts[f"discount_codes.{index}.amount"] = code["amount"]
    amounts |= taxes_and_duties.get_tax_prices("tax_lines", taxes)
    return {
        name: [INVALID]
        for name, amount in amounts.items()
        if amount is not None and not has_valid_precision(amount, order.currency)
    }


# --- discounts -------------------------------------------------------------------------------------------------------


def _discount_lines(order: Order, lines: Sequence[LineItem]) -> Errors:
    """Apply the discounts of individual lines, each as a separate discount application."""
    errors: Errors = {}
    order.discount_applications = []
    for index, line in enumerate(lines):
        line.discount, line.discount_allocations = ZERO, []
        if line.total_discount > get_gross_price(line):
            errors[f"line_items.{index}.total_discount"] = [at_most(get_gross_price(line))]
        elif line.total_discount:
            _apply_discount(order, line, line.total_discount)
    return errors


def _apply_discount(order: Order, line: LineItem, amount: Decimal) -> None:
    """Apply a discount to one line, as a separate discount application."""
    value = format_decimal(amount, order.currency)
    _allocate(line, amount, _add_application(order, type="manual", value=value, explicit=True))


def _apply_codes(
    order: Order, lines: Sequence[LineItem], shipping: Sequence[ShippingLine], codes: Sequence[ReadOnlyAttrs]
) -> Errors:
    """Apply discount codes one after the other, each to the price that remains after the previous codes."""
    errors: Errors = {}
    order.discount_codes = []
    for shipping_line in shipping:
        shipping_line.discount, shipping_line.discount_allocations = ZERO, []
    for index, code in enumerate(codes):
        is_shipping = code["type"] == "shipping"
        rows: Sequence[PricedRow] = shipping if is_shipping else lines
        remaining = [get_net_price(row) for row in rows]
        if code["type"] == "percentage":
            if code["amount"] > 100:
                errors[f"discount_codes.{index}.amount"] = [at_most(100)]
                continue
            amount = round_money(sum(remaining, ZERO) * code["amount"] / 100, order.currency)
        else:
            amount = min(code["amount"], sum(remaining, ZERO))
        application = _add_application(
            order,
            type="discount_code",
            value=format_plain(code["amount"]),
            value_type="percentage" if code["type"] == "percentage" else "fixed_amount",
            target="shipping_line" if is_shipping else "line_item",
            code=code["code"],
        )
        if amount:
            for row, part in zip(rows, split_amount(amount, remaining, order.currency), strict=True):
                if part:
                    _allocate(row, part, application)
        applied_code = {"code": code["code"], "amount": str(amount), "type": code["type"]}
        order.discount_codes.append(applied_code)
    return errors


def _add_application(
    order: Order,
    *,
    type: str,
    value: str,
    value_type: str = "fixed_amount",
    target: str = "line_item",
    explicit: bool = False,
    code: str = "",
) -> int:
    """Add a discount application to the order, and return the index that allocations refer to."""
    order.discount_applications.append(
        {
            "target_type": target,
            "type": type,
            "value": value,
            "value_type": value_type,
            "allocation_method": "one" if explicit else "across",
            "target_selection": "explicit" if explicit else "all",
            "code": code,
            "title": code or "Discount",
            "description": code or "Discount",
        }
    )
    return len(order.discount_applications) - 1


def _allocate(row: PricedRow, amount: Decimal, application: int) -> None:
    row.discount += amount
    row.discount_allocations.append({"amount": str(amount), "discount_application_index": application})


# --- taxes -----------------------------------------------------------------------------------------------------------


def _complete_taxes(
    order: Order, lines: Sequence[LineItem], shipping: Sequence[ShippingLine], taxes: Sequence[ReadOnlyAttrs]
) -> Errors:
    """Calculate the tax lines of the rows and their duties, and set the order's tax totals."""
    rows: tuple[PricedRow, ...] = (*lines, *shipping)
    own = any(row.tax_lines for row in rows) or any(duty.get("tax_lines") for line in lines for duty in line.duties)
    if taxes and not own:
        _share_taxes(order, lines, taxes)
    errors = _complete_row_taxes(order, "line_items", lines) | _complete_row_taxes(order, "shipping_lines", shipping)
    for index, line in enumerate(lines):
        errors |= {
            f"line_items.{index}.{name}": messages
            for name, messages in taxes_and_duties.complete_duties(order, line).items()
        }
    set_order_taxes(order, lines, shipping)
    if own and taxes:
        errors |= _check_tax_sum(order, rows, taxes)
    return errors


def set_order_taxes(order: Order, lines: Sequence[LineItem], shipping: Sequence[ShippingLine]) -> None:
    """Set the order's tax lines to the summed taxes of its line items, shipping lines and duties."""
    rows: tuple[PricedRow, ...] = (*lines, *shipping)
    on_rows = [tax for row in rows for tax in row.tax_lines]
    on_duties = [tax for line in lines for duty in line.duties for tax in duty["tax_lines"]]
    order.tax_lines = taxes_and_duties.sum_taxes([*on_rows, *on_duties])


def add_line_discount(order: Order, line: LineItem, amount: Decimal) -> None:
    """Add a discount to one line and adjust its taxes.

    Args:
        order: The order. This function adds a discount application to it but does not update its totals.
        line: The line with complete taxes.
        amount: The additional discount, at most the line's price after existing discounts.
    """
    before = get_net_price(line)
    _apply_discount(order, line, amount)
    line.total_discount += amount
    line.tax_lines = [
        {**tax, "price": str(_adjust_tax(order, tax, before, get_net_price(line)))} for tax in line.tax_lines
    ]
    line.tax = taxes_and_duties.sum_prices(line.tax_lines)


def price_added_lines(order: Order, lines: Sequence[LineItem], taxes: Sequence[ReadOnlyAttrs]) -> Errors:
    """Set the amounts of lines added to an existing order, without updating the order's totals.

    Args:
        order: The order. The discount applications of the lines are added to it.
        lines: Lines with price, quantity and ``total_discount``.
        taxes: Taxes for the taxable lines: ``title``, ``rate`` and ``price``.

    Returns:
        The errors as ``{field: [messages]}``.
    """
    for line in lines:
        line.tax_lines = [dict(tax) for tax in taxes] if line.taxable and not order.tax_exempt else []
    errors: Errors = {}
    for index, line in enumerate(lines):
        amounts = {"price": line.price, "total_discount": line.total_discount}
        # A price copied from a stored line always has three decimals, so check the value, not the number of decimals.
        invalid = [name for name, amount in amounts.items() if amount != round_money(amount, order.currency)]
        errors |= {f"line_items.{index}.{name}": [INVALID] for name in invalid}
    if errors:
        return errors
    for index, line in enumerate(lines):
        line.discount, line.discount_allocations, amount = ZERO, [], line.total_discount
        if amount > get_gross_price(line):
            errors[f"line_items.{index}.total_discount"] = [at_most(get_gross_price(line))]
        elif amount:
            _apply_discount(order, line, amount)
    return errors | _complete_row_taxes(order, "line_items", lines)


def _adjust_tax(order: Order, tax: ReadOnlyAttrs, before: Decimal, after: Decimal) -> Decimal:
    """Return the tax after a price change: recalculated from the rate if possible, otherwise scaled with the price."""
    by_rate = {**tax, "rate": Decimal(tax["rate"]), "price": None}
    present = Decimal(tax["price"])
    if present == Decimal(taxes_and_duties.build_tax_line(order, before, by_rate)["price"]):
        return Decimal(taxes_and_duties.build_tax_line(order, after, by_rate)["price"])
    return round_money(present * after / before, order.currency) if before else present


def _complete_row_taxes(order: Order, kind: str, rows: Sequence[PricedRow]) -> Errors:
    """Complete the taxes of rows. If a row is not taxable, rates are applied to a price of zero."""
    errors: Errors = {}
    for index, row in enumerate(rows):
        taxable = getattr(row, "taxable", True) and not order.tax_exempt
        row.tax_lines = [
            taxes_and_duties.build_tax_line(order, get_net_price(row) if taxable else ZERO, tax)
            for tax in row.tax_lines
        ]
        row.tax = sum((Decimal(tax["price"]) for tax in row.tax_lines), ZERO)
        if order.taxes_included and row.tax > get_net_price(row):
            errors[f"{kind}.{index}.tax_lines"] = [_("cannot exceed the price, because the price includes taxes")]
    return errors


def _check_tax_sum(order: Order, rows: Sequence[PricedRow], taxes: Sequence[ReadOnlyAttrs]) -> Errors:
    """Return an error if all order taxes have prices and their sum differs from the taxes of the rows."""
    prices = [tax["price"] for tax in taxes]
    total = sum((row.tax for row in rows), ZERO)
    total += sum((row.duty_tax for row in rows if isinstance(row, LineItem)), ZERO)
    if None in prices or sum(prices, ZERO) == total:
        return {}
    return {"tax_lines": [_MUST_ADD_UP.format(total=format_decimal(total, order.currency))]}


def _share_taxes(order: Order, lines: Sequence[LineItem], taxes: Sequence[ReadOnlyAttrs]) -> None:
    """Allocate taxes on the whole order to the taxable lines.

    If no line is taxable, a tax with a given price is allocated to all lines.
    """
    taxable = [] if order.tax_exempt else [line for line in lines if line.taxable]
    base = sum((get_net_price(line) for line in taxable), ZERO)
    sharing_lines = taxable or list(lines)
    for tax in taxes:
        tax_amount = Decimal(taxes_and_duties.build_tax_line(order, base, tax)["price"])
        parts = split_amount(tax_amount, [get_net_price(line) for line in sharing_lines], order.currency)
        for line, part in zip(sharing_lines, parts, strict=True):
            line.tax_lines = [*line.tax_lines, {**tax, "price": part}]


# --- totals ----------------------------------------------------------------------------------------------------------


def set_totals(order: Order, lines: Sequence[LineItem], shipping: Sequence[ShippingLine]) -> None:
    """Set the order's original and current totals (``TOTAL_COLUMNS``)."""
    rows: tuple[PricedRow, ...] = (*lines, *shipping)
    order.total_line_items_price = sum((get_gross_price(line) for line in lines), ZERO)
    order.total_discounts = sum((row.discount for row in rows), ZERO)
    order.subtotal_price = sum((get_net_price(line) for line in lines), ZERO)
    order.total_shipping_price = sum((row.price for row in shipping), ZERO)
    order.total_tax = sum((row.tax for row in rows), ZERO) + sum((line.duty_tax for line in lines), ZERO)
    order.total_duties = sum((line.duty for line in lines), ZERO)
    order.total_weight = sum(line.grams * line.quantity for line in lines)
    order.total_price = _payable(order, order.subtotal_price + order.total_duties, shipping, order.total_tax)
    set_current_totals(order, lines, shipping)


def set_current_totals(order: Order, lines: Sequence[LineItem], shipping: Sequence[ShippingLine]) -> None:
    """Set the order's current totals based on the remaining items and shipping lines."""

    def of(line: LineItem, amount: Decimal) -> Decimal:
        return calculate_portion(amount, line.current_quantity, line.quantity, order.currency)

    remaining_shipping = [row for row in shipping if not row.is_removed]
    discounts = [of(line, line.discount) for line in lines]
    order.current_total_discounts = sum([*discounts, *(row.discount for row in remaining_shipping)], ZERO)
    order.current_subtotal_price = sum((line.price * line.current_quantity for line in lines), ZERO) - sum(
        discounts, ZERO
    )
    # A canceled order without items has no tip and no duties.
    is_void = order.cancelled_at is not None and not any(line.current_quantity for line in lines)
    dutiable = [] if is_void else lines
    order.current_total_duties = sum((line.duty - line.refunded_duty for line in dutiable), ZERO)
    taxes = [*(of(line, line.tax) for line in lines), *(row.tax - row.refunded_tax for row in remaining_shipping)]
    order.current_total_tax = sum([*taxes, *(line.duty_tax - line.refunded_duty_tax for line in dutiable)], ZERO)
    items_total = order.current_subtotal_price + order.current_total_duties
    payable = _payable(order, items_total, remaining_shipping, order.current_total_tax)
    credited = sum((row.refunded for row in remaining_shipping), order.total_tip_received if is_void else ZERO)
    # The refund of an item and its later cancellation both reduce the total, but the total must not become negative.
    order.current_total_price = max(payable - credited + order.refund_discrepancy, ZERO)
    order.total_removed = sum((_removed_amount(order, line) for line in lines), ZERO)


def _removed_amount(order: Order, line: LineItem) -> Decimal:
    """Return the price of the items that were removed from the order without a refund."""
    kept_quantity = line.current_quantity + line.refunded_quantity

    def of(amount: Decimal) -> Decimal:
        return amount - calculate_portion(amount, kept_quantity, line.quantity, order.currency)

    taxes = ZERO if order.taxes_included else of(line.tax)
    return line.price * (line.quantity - kept_quantity) - of(line.discount) + taxes


def _payable(order: Order, items_total: Decimal, shipping: Sequence[ShippingLine], tax: Decimal) -> Decimal:
    """Return the total of the items plus shipping, tip and the taxes that are not included in prices."""
    shipping_total = sum((get_net_price(row) for row in shipping), ZERO)
    return items_total + shipping_total + order.total_tip_received + (ZERO if order.taxes_included else tax)


def check_limits(order: Order) -> Errors:
    """Return errors for totals that are too large to store or to convert to the presentment currency."""
    largest = max(getattr(order, name) for name in (*TOTALS, "total_duties"))
    errors: Errors = {}
    if largest >= MAX_AMOUNT:
        errors["total_price"] = [_("must be less than {limit}").format(limit=MAX_AMOUNT)]
    elif largest * order.exchange_rate >= MAX_AMOUNT:
        errors["exchange_rate"] = [_("results in amounts of {limit} or more").format(limit=MAX_AMOUNT)]
    if order.total_weight > MAX_WEIGHT:
        errors["total_weight"] = [at_most(MAX_WEIGHT)]
    return errors


def compare_totals(order: Order, totals: Mapping[str, Decimal]) -> Errors:
    """Return errors for totals sent by a client that differ from the calculated totals."""
    return {
        name: [_MUST_BE.format(amount=format_decimal(getattr(order, name), order.currency))]
        for name, amount in totals.items()
        if amount != getattr(order, name)
    }
