"""Price orders: discounts allocated to the lines, taxes and totals. The functions do not save the rows."""

from collections.abc import Sequence
from decimal import Decimal

from apps.core.i18n.error_messages import INVALID, at_most
from apps.core.money import ZERO, format_decimal, format_plain, has_valid_precision, round_money, split_amount
from apps.core.types import Errors, ReadOnlyAttrs
from apps.orders.domain.pricing.given_discounts import PricedRow, apply_given_discounts, split_codes
from apps.orders.domain.pricing.taxes import (
    adjust_taxes,
    complete_row_taxes,
    complete_taxes,
    get_duty_amounts,
    get_tax_prices,
    sum_prices,
)
from apps.orders.domain.pricing.totals import check_limits, set_totals
from apps.orders.models import LineItem, Order, ShippingLine

CODE_TYPES = ("fixed_amount", "percentage", "shipping")


def price_order(
    order: Order,
    lines: Sequence[LineItem],
    shipping: Sequence[ShippingLine],
    *,
    codes: Sequence[ReadOnlyAttrs] = (),
    taxes: Sequence[ReadOnlyAttrs] = (),
    applications: Sequence[ReadOnlyAttrs] = (),
) -> Errors:
    """Set all amounts of an order with its currency, and of its lines.

    Lines have price, quantity, ``total_discount``, ``tax_lines`` (``title``, ``rate``, optional ``price``) and
    ``duties`` in the format of the request body (see ``taxes.complete_duties``). Codes have ``code``, ``amount`` (in
    percent for percentages) and ``type``. ``applications`` are discounts that another system has already allocated to
    the lines (see ``given_discounts``). Their codes and allocations are not applied again. Taxes on the whole order are
    allocated to taxable lines if no line, shipping line or duty has taxes.
    """
    errors = _check_decimals(order, lines, shipping, codes, taxes)
    if errors:
        return errors
    if errors := apply_given_discounts(order, lines, shipping, applications):
        return errors
    errors |= _discount_lines(order, lines)
    errors |= _apply_codes(order, lines, shipping, codes)
    errors |= complete_taxes(order, lines, shipping, taxes)
    if not errors:
        set_totals(order, lines, shipping)
        errors |= check_limits(order)
    return errors


def _check_decimals(
    order: Order,
    lines: Sequence[LineItem],
    shipping: Sequence[ShippingLine],
    codes: Sequence[ReadOnlyAttrs],
    taxes: Sequence[ReadOnlyAttrs],
) -> Errors:
    amounts: dict[str, Decimal | None] = {"total_tip_received": order.total_tip_received}
    for index, line in enumerate(lines):
        amounts |= {f"line_items.{index}.price": line.price, f"line_items.{index}.total_discount": line.total_discount}
        amounts |= get_tax_prices(f"line_items.{index}.tax_lines", line.tax_lines)
        amounts |= get_duty_amounts(f"line_items.{index}.duties", line.duties)
    for index, row in enumerate(shipping):
        amounts[f"shipping_lines.{index}.price"] = row.price
        amounts |= get_tax_prices(f"shipping_lines.{index}.tax_lines", row.tax_lines)
    for index, code in enumerate(codes):
        if code["type"] != "percentage":
            amounts[f"discount_codes.{index}.amount"] = code["amount"]
    amounts |= get_tax_prices("tax_lines", taxes)
    return {
        name: [INVALID]
        for name, amount in amounts.items()
        if amount is not None and not has_valid_precision(amount, order.currency)
    }


def _discount_lines(order: Order, lines: Sequence[LineItem]) -> Errors:
    errors: Errors = {}
    for index, line in enumerate(lines):
        if line.total_discount > line.gross_price:
            errors[f"line_items.{index}.total_discount"] = [at_most(line.gross_price)]
        elif line.total_discount and not line.discount_allocations:
            _apply_discount(order, line, line.total_discount)
    return errors


def _apply_discount(order: Order, line: LineItem, amount: Decimal) -> None:
    value = format_decimal(amount, order.currency)
    _allocate(line, amount, _add_application(order, type="manual", value=value, explicit=True))


def _apply_codes(
    order: Order, lines: Sequence[LineItem], shipping: Sequence[ShippingLine], codes: Sequence[ReadOnlyAttrs]
) -> Errors:
    """Apply discount codes one after the other, each to the price that remains after the previous codes."""
    errors: Errors = {}
    order.discount_codes, new_codes = split_codes(order, [*lines, *shipping], codes)
    for index, code in new_codes.items():
        is_shipping = code["type"] == "shipping"
        rows: Sequence[PricedRow] = shipping if is_shipping else lines
        remaining = [row.net_price for row in rows]
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
        order.discount_codes.append({"code": code["code"], "amount": str(amount), "type": code["type"]})
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


def add_line_discount(order: Order, line: LineItem, amount: Decimal) -> None:
    """Add a discount to one line and adjust its taxes.

    The order's totals are not updated. The line must have complete taxes, and the discount must not exceed its price.
    """
    before = line.net_price
    _apply_discount(order, line, amount)
    line.total_discount += amount
    line.tax_lines = adjust_taxes(order, line.tax_lines, before, line.net_price)
    line.tax = sum_prices(line.tax_lines)


def price_added_lines(order: Order, lines: Sequence[LineItem], taxes: Sequence[ReadOnlyAttrs]) -> Errors:
    """Set the amounts of lines added to an existing order, without updating the order's totals.

    The discount applications of the lines are added to the order. ``taxes`` are for the taxable lines.
    """
    for line in lines:
        line.tax_lines = [dict(tax) for tax in taxes] if line.taxable and not order.tax_exempt else []
    errors: Errors = {}
    for index, line in enumerate(lines):
        amounts = {"price": line.price, "total_discount": line.total_discount}
        # A price copied from a stored line always has three decimals, so check the value, not the number of decimals.
        invalid = [name for name, amount in amounts.items() if amount != round_money(amount, order.currency)]
        errors |= {f"line_items.{index}.{name}": [INVALID] for name in invalid}
    return errors or _discount_lines(order, lines) | complete_row_taxes(order, "line_items", lines)
