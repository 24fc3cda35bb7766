"""Find refunds and orders with taxes by rate that are missing or do not add up.

Processes of an earlier release save refunds and changed orders without taxes by rate until they are restarted.
"""

from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from django.db.models import F, Q, QuerySet

from apps.core.money import ZERO
from apps.core.tenancy.models import Shop
from apps.orders.domain.consistency_checks import iterate_id_ranges
from apps.orders.domain.pricing.taxes import sum_prices
from apps.orders.models import LineItem, Order
from apps.refunds.models import Refund, RefundDuty, RefundLineItem, RefundShippingLine

# The model of each refunded part, its tax column, and a condition for rows that have no taxes at all.
_PARTS: tuple[tuple[type[Any], str, Q], ...] = (
    (RefundLineItem, "total_tax", Q(line_item__tax_lines=[])),
    (RefundShippingLine, "tax", Q(shipping_line__tax_lines=[])),
    (RefundDuty, "tax", Q(tax=0)),
)


class TaxDifference(NamedTuple):
    """A sentence about the taxes of an order. ``is_missing`` is True if the taxes can be filled in."""

    shop_id: int
    order_id: int
    sentence: str
    is_missing: bool = True


def check_taxes() -> Iterator[str]:
    """Yield a message for each refund or order of a writable shop with wrong or missing taxes by rate."""
    for row in find_tax_differences():
        yield f"shop {row.shop_id}, order {row.order_id}: {row.sentence}"


def find_tax_differences(shop: Shop | None = None) -> Iterator[TaxDifference]:
    """Yield the differences of one shop or of all writable shops. The taxes of read-only shops cannot be filled in."""
    shops = Q(shop__read_only_at=None) if shop is None else Q(shop=shop)
    yield from _find_refunds(shops)
    yield from _find_duties(shops)
    yield from _find_orders(shops)


def _find_refunds(shops: Q) -> Iterator[TaxDifference]:
    """Yield refunds without taxes by rate, and refunds with other taxes than their parts."""
    for after, upto in iterate_id_ranges(Refund):
        in_range = Q(refund_id__gt=after, refund_id__lte=upto)
        missing, taxes = _find_refunds_without_taxes(in_range), _sum_taxes_of_parts(in_range)
        refunds = Refund.objects.filter(shops, pk__gt=after, pk__lte=upto).order_by("pk")
        columns = ("pk", "shop_id", "order_id", "tax_lines", "order__currency", "order__presentment_currency")
        for pk, shop_id, order_id, lines, currency, presentment in refunds.values_list(*columns):
            if pk in missing:
                yield TaxDifference(shop_id, order_id, f"refund {pk} has no taxes by rate")
                continue
            expected, converted = taxes.get(pk, (ZERO, ZERO))
            pairs = [(sum_prices(lines), expected)]
            if presentment != currency and converted is not None:
                presentment_prices = (Decimal(line.get("presentment_price", line["price"])) for line in lines)
                pairs.append((sum(presentment_prices, ZERO), converted))
            for total, right in pairs:
                if total != right:
                    sentence = f"refund {pk} has taxes {total}, expected {right.normalize():f}"
                    yield TaxDifference(shop_id, order_id, sentence, is_missing=False)


def _find_refunds_without_taxes(in_range: Q) -> set[int]:
    return {
        pk
        for model, _column, has_none in _PARTS
        for pk in model.objects.filter(in_range, tax_lines=[]).exclude(has_none).values_list("refund_id", flat=True)
    }


def _sum_taxes_of_parts(in_range: Q) -> dict[int, tuple[Decimal, Decimal | None]]:
    """Return the taxes of refunds in both currencies. Earlier releases did not store all presentment amounts."""
    sums: dict[int, tuple[Decimal, Decimal | None]] = defaultdict(lambda: (ZERO, ZERO))
    for model, column, _has_none in _PARTS:
        parts: QuerySet[Any] = model.objects.filter(in_range)
        for pk, tax, converted in parts.values_list("refund_id", column, "presentment_tax"):
            total, converted_total = sums[pk]
            is_known = converted is not None and converted_total is not None
            sums[pk] = total + tax, converted_total + converted if is_known else None
    return sums


def _find_duties(shops: Q) -> Iterator[TaxDifference]:
    """Yield line items with other refunded taxes of their duties than in ``refunded_duty_tax``."""
    for after, upto in iterate_id_ranges(LineItem):
        lines = LineItem.objects.filter(shops, pk__gt=after, pk__lte=upto).exclude(refunded_duty_tax=0)
        for line in lines.order_by("pk").only("shop_id", "order_id", "duties", "refunded_duty_tax"):
            refunded = sum((Decimal(duty.get("refunded_tax", 0)) for duty in line.duties), ZERO)
            if refunded != line.refunded_duty_tax:
                sentence = (
                    f"the duties of line item {line.pk} have refunded taxes {refunded.normalize():f}, expected"
                    f" {line.refunded_duty_tax.normalize():f}"
                )
                yield TaxDifference(line.shop_id, line.order_id, sentence)


def _find_orders(shops: Q) -> Iterator[TaxDifference]:
    """Yield orders with current taxes that do not add up to the current total."""
    changed = ~Q(current_tax_lines=None) | ~Q(total_tax=F("current_total_tax"))
    columns = ("pk", "shop_id", "current_total_tax", "tax_lines", "current_tax_lines")
    for after, upto in iterate_id_ranges(Order):
        orders = Order.objects.filter(shops, changed, pk__gt=after, pk__lte=upto).order_by("pk")
        for pk, shop_id, expected, taxes, current_taxes in orders.values_list(*columns).iterator():
            total = sum_prices(taxes if current_taxes is None else current_taxes)
            if total != expected:
                sentence = f"the current taxes by rate are {total.normalize():f}, expected {expected.normalize():f}"
                yield TaxDifference(shop_id, pk, sentence)
