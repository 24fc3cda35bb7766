"""Calculate the refunds of a date range by period, reason and product.

Dates are in the shop's time zone. Only refunds of orders in the shop currency are summed. Refunds in other
currencies are counted separately. Test orders are excluded. A transaction counts as soon as it is created, unless the
gateway refuses it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Case, Count, DecimalField, F, Model, Q, QuerySet, Sum, When
from django.db.models.functions import TruncDay, TruncMonth, TruncWeek
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.core.money import ZERO
from apps.core.tenancy.scope import get_current_shop
from apps.orders.domain.sales_report import DateRange
from apps.orders.models import Transaction
from apps.refunds.domain.calculation import ACTIVE_STATUSES
from apps.refunds.models import Refund, RefundLineItem, RefundPayment, RefundReason

STEPS = {"day": TruncDay, "week": TruncWeek, "month": TruncMonth}
# The maximum length of a report in days, by step.
MAX_DAYS = {"day": 366, "week": 1830, "month": 1830}
MAX_PRODUCTS = 10_000


@dataclass(frozen=True, slots=True)
class RefundReportRange(DateRange):
    """The date range of a report (both ends included) and its step: ``day``, ``week`` or ``month``."""

    step: str

    def iter_periods(self) -> Iterator[date]:
        """Yield the first day of every period, including periods without refunds."""
        day = self.get_period_start(self.first)
        while day <= self.last:
            yield day
            day = self.get_period_start(day + timedelta(days={"day": 1, "week": 7, "month": 31}[self.step]))

    def get_period_start(self, day: date) -> date:
        if self.step == "week":
            return day - timedelta(days=day.weekday())
        return day.replace(day=1) if self.step == "month" else day


@dataclass(frozen=True, slots=True)
class RefundReportRow:
    """A row of a report. The name is the first day of a period, the label of a reason, or a product title.

    The amount is the refunded amount; for a product, the price of the refunded items.
    """

    name: date | str
    refunds: int
    quantity: int
    amount: Decimal


@dataclass(frozen=True, slots=True)
class RefundReportTotals:
    """The totals of a report. ``other_currencies`` counts the refunds in other currencies, which are not included."""

    refunds: int
    quantity: int
    amount: Decimal
    other_currencies: int


def get_refund_totals(span: RefundReportRange) -> RefundReportTotals:
    sums = _sums(span, {})
    (refunds, units, money) = sums.get((), (0, 0, ZERO))
    other_currencies = _filter_rows(Refund.objects.all(), span, "", currency=False).exclude(
        order__currency=get_current_shop().currency
    )
    return RefundReportTotals(refunds, units, money, other_currencies.count())


def get_refunds_by_period(span: RefundReportRange) -> list[RefundReportRow]:
    sums = _sums(span, {"period": "processed_at"})
    values_by_day = {timezone.localtime(moment).date(): values for (moment,), values in sums.items()}
    return [RefundReportRow(day, *values_by_day.get(day, (0, 0, ZERO))) for day in span.iter_periods()]


def get_refunds_by_reason(span: RefundReportRange) -> list[RefundReportRow]:
    """Return one row per reason, largest amount first."""
    labels: dict[str, str] = {
        "": _("No reason given"),
        **{reason.value: str(reason.label) for reason in RefundReason},
    }
    rows = [RefundReportRow(labels.get(key, key), *values) for (key,), values in _sums(span, {"why": "reason"}).items()]
    return sorted(rows, key=lambda row: (-row.amount, str(row.name)))


def get_refunds_by_product(span: RefundReportRange) -> list[RefundReportRow]:
    """Return one row per product, largest amount first. Refunds without items are not included."""
    price = Case(
        When(refund__order__taxes_included=True, then=F("subtotal")),
        default=F("subtotal") + F("total_tax"),
        output_field=DecimalField(max_digits=20, decimal_places=3),
    )
    rows = (
        _filter_rows(RefundLineItem.objects.all(), span, "refund__")
        .values("line_item__product", "line_item__title")
        .annotate(refunds=Count("refund", distinct=True), units=Sum("quantity"), money=Sum(price))
        .order_by("-money", "line_item__title")
    )
    return [
        RefundReportRow(row["line_item__title"], row["refunds"], row["units"], row["money"])
        for row in rows[:MAX_PRODUCTS]
    ]


def _sums(span: RefundReportRange, grouped: dict[str, str]) -> dict[tuple[Any, ...], tuple[int, int, Decimal]]:
    """Count refunds and sum items and money, grouped by refund columns (``processed_at`` is truncated to the step)."""
    sums: dict[tuple[Any, ...], list[Any]] = {}
    is_active = Q(transaction__status__in=ACTIVE_STATUSES, transaction__kind=Transaction.Kind.REFUND)
    queries: tuple[tuple[QuerySet[Any], str, Any], ...] = (
        (Refund.objects.all(), "", Count("pk")),
        (RefundLineItem.objects.all(), "refund__", Sum("quantity")),
        (RefundPayment.objects.filter(is_active), "refund__", Sum("transaction__shop_amount")),
    )
    for index, (rows, prefix, value) in enumerate(queries):
        keys = {name: _key(span, prefix + column) for name, column in grouped.items()}
        in_range = _filter_rows(rows, span, prefix)
        if not keys:
            sums.setdefault((), [0, 0, ZERO])[index] = in_range.aggregate(value=value)["value"] or 0
            continue
        for *key, summed in in_range.annotate(**keys).values_list(*keys).annotate(value=value):
            sums.setdefault(tuple(key), [0, 0, ZERO])[index] = summed
    return {key: (values[0], values[1], Decimal(values[2])) for key, values in sums.items()}


def _key(span: RefundReportRange, column: str) -> Any:
    return STEPS[span.step](column) if column.endswith("processed_at") else F(column)


def _filter_rows(
    rows: "QuerySet[Model]", span: RefundReportRange, prefix: str, *, currency: bool = True
) -> "QuerySet[Any]":
    """Filter rows by a date range. ``prefix`` is the lookup path from a row to the refund."""
    begin, end = span.bounds
    shop = get_current_shop()
    conditions: dict[str, object] = {f"{prefix}order__currency": shop.currency} if currency else {}
    if prefix:
        # The index on the refund's time starts with the shop, so the query includes the shop.
        conditions[f"{prefix}shop"] = shop
    return rows.filter(
        **{
            f"{prefix}processed_at__gte": begin,
            f"{prefix}processed_at__lt": end,
            f"{prefix}order__test": False,
            **conditions,
        }
    ).order_by()
