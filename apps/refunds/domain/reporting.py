"""What was refunded in a span of days: period by period, by reason, and by product.

Days are the shop's. Amounts are in the shop's currency; only those of orders in it can be added up, so refunds of other
orders are counted apart. Test orders are left out. Money counts from the moment it is promised, and no more once its
gateway refused.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Case, Count, DecimalField, F, Model, Q, QuerySet, Sum, When
from django.db.models.functions import TruncDay, TruncMonth, TruncWeek
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.ground.money import ZERO
from apps.ground.tenancy import current_shop
from apps.orders.models import Transaction
from apps.refunds.domain.calculation import LIVING
from apps.refunds.models import Refund, RefundLineItem, RefundPayment, RefundReason

STEPS = {"day": TruncDay, "week": TruncWeek, "month": TruncMonth}
# How many days a report reaches over at most, by its step.
MOST_DAYS = {"day": 366, "week": 1830, "month": 1830}
MOST_PRODUCTS = 10_000


@dataclass(frozen=True, slots=True)
class Span:
    """The days of a report, both included, and how they are put together: ``day``, ``week`` or ``month``."""

    first: date
    last: date
    step: str

    @property
    def moments(self) -> tuple[datetime, datetime]:
        """From when on, and until before when."""
        zone = timezone.get_current_timezone()
        ends = (self.first, self.last + timedelta(days=1))
        begin, end = (datetime.combine(day, time(), tzinfo=zone) for day in ends)
        return begin, end

    def periods(self) -> Iterator[date]:
        """The first days of all periods, those without a refund too."""
        day = self._beginning(self.first)
        while day <= self.last:
            yield day
            day = self._beginning(day + timedelta(days={"day": 1, "week": 7, "month": 31}[self.step]))

    def _beginning(self, day: date) -> date:
        if self.step == "week":
            return day - timedelta(days=day.weekday())
        return day.replace(day=1) if self.step == "month" else day


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a report.

    Attributes:
        name: The first day of a period, a reason in words, or a product's title.
        refunds: How many.
        units: How many units they named.
        money: What went back; of a product what its units were worth.
    """

    name: date | str
    refunds: int
    units: int
    money: Decimal


@dataclass(frozen=True, slots=True)
class Total:
    """What a span comes to; ``other_currencies`` counts the refunds that are not in it."""

    refunds: int
    units: int
    money: Decimal
    other_currencies: int


def total(span: Span) -> Total:
    """All of it."""
    sums = _sums(span, {})
    (refunds, units, money) = sums.get((), (0, 0, ZERO))
    others = _within(Refund.objects.all(), span, "", currency=False).exclude(order__currency=current_shop().currency)
    return Total(refunds, units, money, others.count())


def by_period(span: Span) -> list[Row]:
    """Period by period."""
    sums = _sums(span, {"period": "processed_at"})
    found = {timezone.localtime(moment).date(): values for (moment,), values in sums.items()}
    return [Row(day, *found.get(day, (0, 0, ZERO))) for day in span.periods()]


def by_reason(span: Span) -> list[Row]:
    """Reason by reason, the most expensive first."""
    labels: dict[str, str] = {
        "": _("No reason given"),
        **{each.value: str(each.label) for each in RefundReason},
    }
    rows = [Row(labels.get(key, key), *values) for (key,), values in _sums(span, {"why": "reason"}).items()]
    return sorted(rows, key=lambda row: (-row.money, str(row.name)))


def by_product(span: Span) -> list[Row]:
    """Product by product, by what its units were worth; shipping and money without units are of no product."""
    worth = Case(
        When(refund__order__taxes_included=True, then=F("subtotal")),
        default=F("subtotal") + F("total_tax"),
        output_field=DecimalField(max_digits=20, decimal_places=3),
    )
    rows = (
        _within(RefundLineItem.objects.all(), span, "refund__")
        .values("line_item__product", "line_item__title")
        .annotate(refunds=Count("refund", distinct=True), units=Sum("quantity"), money=Sum(worth))
        .order_by("-money", "line_item__title")
    )
    return [Row(row["line_item__title"], row["refunds"], row["units"], row["money"]) for row in rows[:MOST_PRODUCTS]]


def _sums(span: Span, grouped: dict[str, str]) -> dict[tuple[Any, ...], tuple[int, int, Decimal]]:
    """Refunds, units and money by what they are grouped by: the moment of the refund, or another column of it."""
    found: dict[tuple[Any, ...], list[Any]] = {}
    paid = Q(transaction__status__in=LIVING, transaction__kind=Transaction.Kind.REFUND)
    queries: tuple[tuple[QuerySet[Any], str, Any], ...] = (
        (Refund.objects.all(), "", Count("pk")),
        (RefundLineItem.objects.all(), "refund__", Sum("quantity")),
        (RefundPayment.objects.filter(paid), "refund__", Sum("transaction__shop_amount")),
    )
    for place, (rows, prefix, value) in enumerate(queries):
        keys = {name: _key(span, prefix + column) for name, column in grouped.items()}
        some = _within(rows, span, prefix)
        if not keys:
            found.setdefault((), [0, 0, ZERO])[place] = some.aggregate(value=value)["value"] or 0
            continue
        for *key, summed in some.annotate(**keys).values_list(*keys).annotate(value=value):
            found.setdefault(tuple(key), [0, 0, ZERO])[place] = summed
    return {key: (values[0], values[1], Decimal(values[2])) for key, values in found.items()}


def _key(span: Span, column: str) -> Any:
    return STEPS[span.step](column) if column.endswith("processed_at") else F(column)


def _within(rows: "QuerySet[Model]", span: Span, prefix: str, *, currency: bool = True) -> "QuerySet[Any]":
    """Rows of refunds within a span; ``prefix`` leads from them to the refund."""
    begin, end = span.moments
    shop = current_shop()
    same: dict[str, object] = {f"{prefix}order__currency": shop.currency} if currency else {}
    if prefix:
        # Of the index by moment the shop comes first.
        same[f"{prefix}shop"] = shop
    return rows.filter(
        **{f"{prefix}processed_at__gte": begin, f"{prefix}processed_at__lt": end, f"{prefix}order__test": False, **same}
    ).order_by()
