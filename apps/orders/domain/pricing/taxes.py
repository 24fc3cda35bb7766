"""Calculate the taxes of an order, and the duties on its line items.

Duties are added to the price of items, even if prices include taxes. The order's setting determines whether a duty
includes its taxes. Duties apply to the ordered quantity of a line and do not change when items are removed. Refunded
duties are stored in ``LineItem.refunded_duty``.
"""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from django.utils.translation import gettext

from apps.core.i18n.error_messages import INVALID
from apps.core.i18n.messages import Amount, define_message
from apps.core.money import (
    ZERO,
    calculate_portion,
    convert_parts,
    format_decimal,
    format_plain,
    round_money,
    split_amount,
    split_first,
)
from apps.core.types import Attrs, Errors, ReadOnlyAttrs
from apps.inventory.models import HS_CODE
from apps.orders.models import LineItem, Order, ShippingLine
from apps.shops.domain.countries import find_country

# Duty ids are random numbers below this limit, so that JavaScript can represent them exactly.
_MAX_ID = 2**53
_MUST_ADD_UP = define_message(
    "orders.must_add_up", "must add up to {total}, the sum of all taxes on items, shipping and duties"
)


def get_tax_prices(prefix: str, taxes: Sequence[ReadOnlyAttrs]) -> dict[str, Decimal | None]:
    return {f"{prefix}.{index}.price": tax["price"] for index, tax in enumerate(taxes)}


def get_duty_amounts(prefix: str, duties: Sequence[ReadOnlyAttrs]) -> dict[str, Decimal | None]:
    prices: dict[str, Decimal | None] = {}
    for index, duty in enumerate(duties):
        prices[f"{prefix}.{index}.shop_money.amount"] = duty["shop_money"]["amount"]
        prices |= get_tax_prices(f"{prefix}.{index}.tax_lines", duty.get("tax_lines") or ())
    return prices


def build_tax_lines(order: Order, base: Decimal, taxes: Sequence[ReadOnlyAttrs]) -> list[Attrs]:
    """Return the taxes on one price in the stored format. Missing prices are calculated from the rates.

    If prices include taxes, every rate applies to the same net price: the price without all of these taxes.
    """
    price, divisor = base, Decimal(1)
    if order.taxes_included:
        price = max(base - sum((tax["price"] for tax in taxes if tax["price"] is not None), ZERO), ZERO)
        divisor += sum((tax["rate"] for tax in taxes if tax["price"] is None), ZERO)
    return [
        {
            "title": tax["title"],
            "rate": format_plain(tax["rate"]),
            "price": str(
                round_money(price * tax["rate"] / divisor, order.currency) if tax["price"] is None else tax["price"]
            ),
            "channel_liable": tax.get("channel_liable"),
        }
        for tax in taxes
    ]


def sum_taxes(taxes: Iterable[ReadOnlyAttrs]) -> list[Attrs]:
    sums: dict[tuple[str, str], Attrs] = {}
    for tax in taxes:
        columns = [column for column in ("price", "presentment_price") if column in tax]
        tax_sum = sums.setdefault((tax["title"], tax["rate"]), {**tax, **dict.fromkeys(columns, "0")})
        for column in columns:
            tax_sum[column] = str(Decimal(tax_sum[column]) + Decimal(tax[column]))
    return list(sums.values())


def complete_duties(order: Order, line: LineItem) -> Errors:
    """Complete a line's duties and their taxes, and set ``duty`` and ``duty_tax``.

    Each duty has ``shop_money`` (``amount``, optionally ``currency_code``), ``harmonized_system_code``,
    ``country_code_of_origin`` and ``tax_lines`` in the same format as the line.
    """
    errors: Errors = {}
    taxable = line.taxable and not order.tax_exempt
    stored_duties: list[Attrs] = []
    for index, duty in enumerate(line.duties):
        price: Decimal = duty["shop_money"]["amount"]
        taxes = build_tax_lines(order, price if taxable else ZERO, duty.get("tax_lines") or ())
        tax = sum_prices(taxes)
        if order.taxes_included and tax > price:
            errors[f"duties.{index}.tax_lines"] = [gettext("cannot exceed the price, because the price includes taxes")]
        errors |= {f"duties.{index}.{name}": [INVALID] for name in _invalid_members(order, duty)}
        stored_duties.append(
            {
                "id": 1 + secrets.randbelow(_MAX_ID - 1),
                "harmonized_system_code": duty.get("harmonized_system_code") or None,
                "country_code_of_origin": (duty.get("country_code_of_origin") or "").upper() or None,
                "price": str(price),
                "tax_lines": taxes,
                **{name: duty[name] for name in ("refunded_tax",) if name in duty},
            }
        )
    line.duties, line.duty = stored_duties, sum_prices(stored_duties)
    line.duty_tax = sum((sum_prices(duty["tax_lines"]) for duty in stored_duties), ZERO)
    return errors


def sum_prices(rows: Iterable[ReadOnlyAttrs]) -> Decimal:
    return sum((Decimal(row["price"]) for row in rows), ZERO)


def _invalid_members(order: Order, duty: ReadOnlyAttrs) -> Iterator[str]:
    if duty["shop_money"].get("currency_code") not in {None, "", order.currency}:
        yield "shop_money.currency_code"
    if (code := duty.get("country_code_of_origin")) and (len(code) != 2 or find_country(code) is None):
        yield "country_code_of_origin"
    if (number := duty.get("harmonized_system_code")) and not HS_CODE.fullmatch(number):
        yield "harmonized_system_code"


def complete_taxes(
    order: Order, lines: Sequence[LineItem], shipping: Sequence[ShippingLine], taxes: Sequence[ReadOnlyAttrs]
) -> Errors:
    """Calculate the tax lines of the rows and their duties, and set the order's tax totals."""
    rows: tuple[LineItem | ShippingLine, ...] = (*lines, *shipping)
    own = any(row.tax_lines for row in rows) or any(duty.get("tax_lines") for line in lines for duty in line.duties)
    if taxes and not own:
        _share_taxes(order, lines, taxes)
    errors = complete_row_taxes(order, "line_items", lines) | complete_row_taxes(order, "shipping_lines", shipping)
    for index, line in enumerate(lines):
        errors |= {f"line_items.{index}.{name}": messages for name, messages in complete_duties(order, line).items()}
    set_order_taxes(order, lines, shipping)
    if own and taxes:
        errors |= _check_tax_sum(order, rows, taxes)
    return errors


def set_order_taxes(order: Order, lines: Sequence[LineItem], shipping: Sequence[ShippingLine]) -> None:
    groups = [*(line.tax_lines for line in lines), *(row.tax_lines for row in shipping)]
    groups += [[tax for duty in line.duties for tax in duty["tax_lines"]] for line in lines]
    order.tax_lines = sum_taxes(tax for group in groups for tax in _convert_taxes(order, group))


def _convert_taxes(order: Order, taxes: Sequence[ReadOnlyAttrs]) -> Sequence[ReadOnlyAttrs]:
    """Add presentment prices that add up to the converted tax of the row, if the order has two currencies."""
    if not order.is_multi_currency:
        return taxes
    converted = get_presentment_prices(order, taxes)
    return [{**tax, "presentment_price": str(price)} for tax, price in zip(taxes, converted, strict=True)]


def get_presentment_prices(order: Order, taxes: Sequence[ReadOnlyAttrs]) -> list[Decimal]:
    """Return the prices of a row's taxes in the presentment currency, which add up to the converted tax of the row."""
    prices = [Decimal(tax["price"]) for tax in taxes]
    if not order.is_multi_currency:
        return prices
    return convert_parts(prices, order.exchange_rate, order.presentment_currency)


def get_current_taxes(
    order: Order, lines: Sequence[LineItem], shipping: Sequence[ShippingLine], *, is_void: bool
) -> list[Attrs] | None:
    """Return the taxes without removed and refunded parts, or None if nothing was removed or refunded.

    ``is_void`` is the result of ``totals.is_void``.
    """
    is_complete = all(line.current_quantity == line.quantity and not line.refunded_duty_tax for line in lines)
    if is_complete and not is_void and not any(row.is_removed or row.refunded_tax for row in shipping):
        return None
    rows: list[tuple[Sequence[ReadOnlyAttrs], Decimal, Decimal]] = []
    for line in lines:
        portion = calculate_portion(line.tax, line.current_quantity, line.quantity, order.currency)
        rows.append((line.tax_lines, ZERO, portion))
        for duty in line.duties:
            duty_tax = sum_prices(duty["tax_lines"])
            refunded = duty_tax if is_void else Decimal(duty.get("refunded_tax", 0))
            rows.append((duty["tax_lines"], refunded, duty_tax))
    rows += [(row.tax_lines, row.tax if row.is_removed else row.refunded_tax, row.tax) for row in shipping]
    return sum_taxes(
        {**tax, "price": str(price)}
        for taxes, first, last in rows
        for tax, price in zip(taxes, split_taxes(order, taxes, first, last), strict=True)
    )


def split_taxes(order: Order, taxes: Sequence[ReadOnlyAttrs], first: Decimal, last: Decimal) -> list[Decimal]:
    """Return the parts of a row's taxes between two amounts of the row's tax, in the order's currency."""
    prices = [Decimal(tax["price"]) for tax in taxes]
    upto, before = (split_first(amount, prices, order.currency) for amount in (last, first))
    return [price - price_before for price, price_before in zip(upto, before, strict=True)]


def adjust_taxes(order: Order, taxes: Sequence[ReadOnlyAttrs], before: Decimal, after: Decimal) -> list[Attrs]:
    """Return the taxes after a price change: recalculated from the rates if possible, otherwise scaled."""
    by_rate = [{**tax, "rate": Decimal(tax["rate"]), "price": None} for tax in taxes]
    pairs = zip(build_tax_lines(order, before, by_rate), build_tax_lines(order, after, by_rate), strict=True)
    adjusted: list[Attrs] = []
    for tax, (expected, recalculated) in zip(taxes, pairs, strict=True):
        present = Decimal(tax["price"])
        if present == Decimal(expected["price"]):
            present = Decimal(recalculated["price"])
        elif before:
            present = round_money(present * after / before, order.currency)
        adjusted.append({**tax, "price": str(present)})
    return adjusted


def complete_row_taxes(order: Order, kind: str, rows: Sequence[LineItem | ShippingLine]) -> Errors:
    """Complete the taxes of rows. If a row is not taxable, rates are applied to a price of zero."""
    errors: Errors = {}
    for index, row in enumerate(rows):
        taxable = getattr(row, "taxable", True) and not order.tax_exempt
        row.tax_lines = build_tax_lines(order, row.net_price if taxable else ZERO, row.tax_lines)
        row.tax = sum_prices(row.tax_lines)
        if order.taxes_included and row.tax > row.net_price:
            errors[f"{kind}.{index}.tax_lines"] = [gettext("cannot exceed the price, because the price includes taxes")]
    return errors


def _check_tax_sum(order: Order, rows: Sequence[LineItem | ShippingLine], taxes: Sequence[ReadOnlyAttrs]) -> Errors:
    """Return an error if all order taxes have prices and their sum differs from the taxes of the rows."""
    prices = [tax["price"] for tax in taxes]
    total = sum((row.tax for row in rows), ZERO)
    total += sum((row.duty_tax for row in rows if isinstance(row, LineItem)), ZERO)
    if None in prices or sum(prices, ZERO) == total:
        return {}
    return {"tax_lines": [_MUST_ADD_UP(total=Amount(format_decimal(total, order.currency)))]}


def _share_taxes(order: Order, lines: Sequence[LineItem], taxes: Sequence[ReadOnlyAttrs]) -> None:
    """Allocate taxes on the whole order to the taxable lines.

    If no line is taxable, a tax with a given price is allocated to all lines.
    """
    taxable = [] if order.tax_exempt else [line for line in lines if line.taxable]
    base = sum((line.net_price for line in taxable), ZERO)
    sharing_lines = taxable or list(lines)
    for tax, completed in zip(taxes, build_tax_lines(order, base, taxes), strict=True):
        parts = split_amount(Decimal(completed["price"]), [line.net_price for line in sharing_lines], order.currency)
        for line, part in zip(sharing_lines, parts, strict=True):
            line.tax_lines = [*line.tax_lines, {**tax, "price": part}]
