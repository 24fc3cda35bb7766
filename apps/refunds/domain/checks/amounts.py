"""Check the prices and taxes of refunds in the order's and in the presentment currency."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from django.db.models import Count, F, Min, Sum

from apps.core.money import ZERO, calculate_portion, format_decimal, get_minor_unit
from apps.orders.domain.consistency_checks import iterate_id_ranges
from apps.orders.domain.pricing.presentment import PresentmentLine, get_presentment_lines, get_rounding_tolerance
from apps.orders.models import LineItem, Order, ShippingLine
from apps.refunds.models import OrderAdjustment, Refund, RefundLineItem, RefundShippingLine

_BATCH_SIZE = 500
_COLUMNS = (
    "pk",
    "shop_id",
    "order_id",
    "price",
    "quantity",
    "current_quantity",
    "refunded_quantity",
    "discount",
    "tax",
)
_SUMS = {
    "subtotal_sum": Sum("subtotal"),
    "tax_sum": Sum("total_tax"),
    "presentment_subtotal_sum": Sum("presentment_subtotal"),
    "presentment_tax_sum": Sum("presentment_tax"),
    "rows": Count("pk"),
    "presentment_rows": Count("presentment_subtotal"),
    "first": Min("refund__created_at"),
}
Values = Mapping[str, Any]


def find_wrong_amounts() -> Iterator[str]:
    yield from _check_lines()
    yield from _check_shipping_adjustments()
    yield from _check_discrepancies()


def _check_lines() -> Iterator[str]:
    """Yield line items with refunds that do not add up to the price and the tax of the refunded items.

    The refunds of items that an edit removed share the rest of the line. As long as some of these items are not
    refunded, the sums can be smaller.
    """
    for after, upto in iterate_id_ranges(LineItem):
        refunds = RefundLineItem.objects.filter(line_item__gt=after, line_item__lte=upto).order_by()
        sums: dict[int, Values] = {row["line_item"]: row for row in refunds.values("line_item").annotate(**_SUMS)}
        pks = sorted(sums)
        for start in range(0, len(pks), _BATCH_SIZE):
            yield from _check_batch(pks[start : start + _BATCH_SIZE], sums)


def _check_batch(pks: Sequence[int], sums: Mapping[int, Values]) -> Iterator[str]:
    lines = LineItem.objects.filter(pk__in=pks).order_by("pk")
    lines_with_order = lines.annotate(currency=F("order__currency"), presentment=F("order__presentment_currency"))
    rows = list(lines_with_order.values(*_COLUMNS, "currency", "presentment"))
    converted = _load_presentment_lines({row["order_id"] for row in rows if row["currency"] != row["presentment"]})
    for row in rows:
        refunded, where = sums[row["pk"]], f"shop {row['shop_id']}, order {row['order_id']}, line item {row['pk']}"
        is_partial = row["quantity"] > row["refunded_quantity"] + row["current_quantity"]
        current, quantity, currency = row["current_quantity"], row["quantity"], row["currency"]
        discount = row["discount"] - calculate_portion(row["discount"], current, quantity, currency)
        tax = row["tax"] - calculate_portion(row["tax"], current, quantity, currency)
        if not is_partial:
            subtotal = row["price"] * (quantity - current) - discount
            yield from _compare(where, "price", refunded["subtotal_sum"], subtotal, currency)
        yield from _compare(where, "tax", refunded["tax_sum"], tax, currency, at_most=is_partial)
        if row["pk"] in converted and refunded["presentment_rows"] == refunded["rows"]:
            yield from _check_presentment(where, converted[row["pk"]], refunded, at_most=is_partial)


class _ConvertedLine(NamedTuple):
    """A line item with its presentment amounts, and the rows that share the converted total with it."""

    row: PresentmentLine
    lines: Sequence[LineItem]
    shipping: Sequence[ShippingLine]

    def get_tolerance(self, refunded: Values) -> Decimal:
        """Return how much later edits can have changed the presentment price of the refunded items.

        Only the line item with the highest price has a rounding difference, which edits change or move to another line
        item. Other line items are never compared with a tolerance. Refunds between edits are rounded one by one.
        """
        order, first = self.row.order, refunded["first"]
        is_unchanged = all(line.created_at < first for line in self.lines)
        if is_unchanged and not any(entry["type"] == "manual" for entry in order.discount_applications):
            return ZERO
        # Edits can only reduce the prices of the other line items, so they were not lower at the first refund.
        others = (line.net_price for line in self.lines if line.created_at < first)
        if self.row.line.net_price < max(others, default=ZERO):
            return ZERO
        rounded = get_minor_unit(order.presentment_currency) * refunded["rows"]
        return rounded + get_rounding_tolerance(order, self.lines, self.shipping)


def _check_presentment(where: str, converted: _ConvertedLine, refunded: Values, *, at_most: bool) -> Iterator[str]:
    """Compare the amounts in the presentment currency."""
    row, line = converted.row, converted.row.line
    price = row.net_price - row.get_subtotal(line.current_quantity)
    tax = row.get_tax(line.quantity) - row.get_tax(line.current_quantity)
    for name, actual, expected, tolerance in (
        ("price", refunded["presentment_subtotal_sum"], price, converted.get_tolerance(refunded)),
        ("tax", refunded["presentment_tax_sum"], tax, ZERO),
    ):
        currency = row.order.presentment_currency
        yield from _compare(where, name, actual, expected, currency, at_most=at_most, tolerance=tolerance)


def _compare(
    where: str,
    name: str,
    actual: Decimal,
    expected: Decimal,
    currency: str,
    *,
    at_most: bool = False,
    tolerance: Decimal = ZERO,
) -> Iterator[str]:
    # SQLite adds up decimals as floating-point numbers.
    actual, expected = round(actual, 3), round(expected, 3)
    if actual > expected + tolerance or (actual < expected - tolerance and not at_most):
        most = "at most " if at_most else ""
        yield (
            f"{where}: the refunded {name} is {format_decimal(actual, currency)} {currency},"
            f" expected {most}{format_decimal(expected, currency)} {currency}"
        )


def _load_presentment_lines(order_ids: set[int]) -> dict[int, _ConvertedLine]:
    """Return the lines of orders by id."""
    lines: dict[int, list[LineItem]] = defaultdict(list)
    shipping: dict[int, list[ShippingLine]] = defaultdict(list)
    for line in LineItem.objects.filter(order__in=order_ids).order_by("position", "pk"):
        lines[line.order_id].append(line)
    for shipping_line in ShippingLine.objects.filter(order__in=order_ids).order_by("pk"):
        shipping[shipping_line.order_id].append(shipping_line)
    return {
        row.line.pk: _ConvertedLine(row, lines[order.pk], shipping[order.pk])
        for order in Order.objects.filter(pk__in=order_ids)
        for row in get_presentment_lines(order, lines[order.pk], shipping[order.pk]).values()
    }


def _check_shipping_adjustments() -> Iterator[str]:
    """Yield refunds with an adjustment for shipping that differs from their refunded shipping lines."""
    kind = OrderAdjustment.Kind.SHIPPING_REFUND
    names = ("amount", "tax", "presentment_amount", "presentment_tax")
    adjusted_names = ("amount", "tax_amount", "presentment_amount", "presentment_tax_amount")
    for after, upto in iterate_id_ranges(Refund):
        shipping = RefundShippingLine.objects.filter(refund__gt=after, refund__lte=upto)
        adjustments = OrderAdjustment.objects.filter(refund__gt=after, refund__lte=upto, kind=kind)
        sums, adjusted = (
            {row[0]: row[1:] for row in rows.order_by().values_list("refund").annotate(*map(Sum, columns))}
            for rows, columns in ((shipping, names), (adjustments, adjusted_names))
        )
        wrong = [pk for pk in sums.keys() | adjusted.keys() if _differ(sums.get(pk), adjusted.get(pk))]
        for pk, shop, order in (
            Refund.objects.filter(pk__in=wrong).order_by("pk").values_list("pk", "shop_id", "order_id")
        ):
            yield (
                f"shop {shop}, order {order}: the shipping adjustment of refund {pk} differs from its refunded shipping"
                " or taxes"
            )


def _differ(sums: Sequence[Decimal | None] | None, adjusted: Sequence[Decimal | None] | None) -> bool:
    pairs = zip(sums or (ZERO,) * 4, adjusted or (ZERO,) * 4, strict=True)
    return any(round(part + total, 3) != 0 for part, total in pairs if part is not None and total is not None)


def _check_discrepancies() -> Iterator[str]:
    """Yield orders with a discrepancy in the presentment currency that differs from their adjustments."""
    kind = OrderAdjustment.Kind.REFUND_DISCREPANCY
    two_currencies = Order.objects.exclude(presentment_currency=F("currency")).exclude(presentment_totals={})
    for after, upto in iterate_id_ranges(Order):
        adjustments = OrderAdjustment.objects.filter(refund__order__gt=after, refund__order__lte=upto, kind=kind)
        rows = adjustments.order_by().values_list("refund__order")
        counts = {"amount": Sum("presentment_amount"), "count": Count("pk"), "converted": Count("presentment_amount")}
        sums = {order: (total, count == converted) for order, total, count, converted in rows.annotate(**counts)}
        orders = two_currencies.filter(pk__gt=after, pk__lte=upto, pk__in=sums) if sums else two_currencies.none()
        for order in orders.order_by("pk").iterator():
            total, is_complete = sums[order.pk]
            if is_complete:
                where, actual = f"shop {order.shop_id}, order {order.pk}", order.get_presentment("refund_discrepancy")
                yield from _compare(where, "discrepancy", actual, total, order.presentment_currency)
