from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal

from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext, pgettext_lazy

from apps.core.admin.display.charts import build_axes, build_bar_pairs, build_bars
from apps.core.admin.pages import dashboard
from apps.core.admin.staff_request import Context
from apps.core.i18n import formats
from apps.core.money import ZERO
from apps.core.tenancy.permissions import allow_custom, grants
from apps.core.tenancy.scope import get_current_shop
from apps.orders.domain.sales_report import DateRange, DaySales, get_sales_by_day
from apps.orders.models import Order

SALES, CHART = "orders.view_sales", "orders.view_sales_chart"
RANGES = (7, 30, 90)
DEFAULT_RANGE = 30

grants.add(
    allow_custom("dashboard", SALES, reads=True),
    allow_custom("overviews", CHART, reads=True),
)


@dataclass(frozen=True, slots=True)
class ChartDay:
    day: date
    total: Decimal
    text: str
    orders: int
    height: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """A number of the current period with the number of the previous period, and the change in percent."""

    label: str
    value: str
    before: str
    change: str
    is_rise: bool


def get_chart_days(count: int) -> list[ChartDay]:
    today, currency = timezone.localdate(), get_current_shop().currency
    span = DateRange(today - timedelta(days=count - 1), today)
    sales_by_day = get_sales_by_day(span)
    days_with_sales = [(day, sales_by_day.get(day, DaySales())) for day in span.iter_days()]
    bars = build_bars([(sold.amount, "") for _, sold in days_with_sales])
    return [
        ChartDay(day, sold.amount, formats.format_amount(sold.amount, currency), sold.orders, bar.height)
        for (day, sold), bar in zip(days_with_sales, bars, strict=True)
    ]


def get_home_days(request: HttpRequest) -> int:
    requested = request.GET.get("days", "")
    return int(requested) if requested in {str(count) for count in RANGES} else DEFAULT_RANGE


def _label(day: ChartDay, currency: str) -> str:
    text = ngettext("{day}: {money}, {count} order", "{day}: {money}, {count} orders", day.orders)
    return text.format(day=formats.format_date(day.day, "j M"), money=f"{day.text} {currency}", count=day.orders)


def _today(request: HttpRequest) -> dashboard.Figure:
    yesterday, today = get_chart_days(2)
    note = ngettext("{currency} today, {count} order", "{currency} today, {count} orders", today.orders).format(
        currency=get_current_shop().currency, count=today.orders
    )
    before = ngettext("Yesterday: {money}, {count} order", "Yesterday: {money}, {count} orders", yesterday.orders)
    return dashboard.Figure(today.text, note, before.format(money=yesterday.text, count=yesterday.orders))


def _build_comparisons(current: Sequence[ChartDay], previous: Sequence[ChartDay]) -> list[Comparison]:
    """Compare sales, orders and the average order of two periods."""
    currency = get_current_shop().currency
    (total, count), (total_before, count_before) = (
        (sum((day.total for day in days), ZERO), sum(day.orders for day in days)) for days in (current, previous)
    )
    average, average_before = (
        amount / number if number else ZERO for amount, number in ((total, count), (total_before, count_before))
    )
    return [
        _compare(pgettext("home", "Sales"), total, total_before, lambda value: formats.format_money(value, currency)),
        _compare(_("Orders"), Decimal(count), Decimal(count_before), lambda value: formats.format_integer(int(value))),
        _compare(_("Average order"), average, average_before, lambda value: formats.format_money(value, currency)),
    ]


def _compare(label: str, value: Decimal, before: Decimal, form: Callable[[Decimal], str]) -> Comparison:
    change = int(((value - before) * 100 / before).to_integral_value(ROUND_HALF_UP)) if before > 0 else None
    text = ""
    if change is not None:
        sign = "+" if change > 0 else "−" if change < 0 else ""
        text = _("{number}%").format(number=f"{sign}{formats.format_integer(abs(change))}")
    return Comparison(label, form(value), form(before), text, is_rise=bool(change and change > 0))


def _chart(request: HttpRequest) -> Context:
    day_count = get_home_days(request)
    all_days, currency = get_chart_days(2 * day_count), get_current_shop().currency
    previous_days, current_days = all_days[:day_count], all_days[day_count:]
    total, total_before = (sum((day.total for day in span), ZERO) for span in (current_days, previous_days))
    pairs = list(zip(current_days, previous_days, strict=True))
    return {
        "days": current_days,
        "rows": pairs[::-1],
        "ranges": [(count, count == day_count) for count in RANGES],
        "count": day_count,
        "pairs": build_bar_pairs([(then.total, day.total, _label(day, currency)) for day, then in pairs]),
        "axes": build_axes(
            [day.total for day in all_days],
            lambda value: formats.format_whole_money(value, currency),
            [*(formats.format_date(day.day, "j M") for day in current_days[:-1]), _("today")],
        ),
        "currency": currency,
        "total": formats.format_amount(total, currency),
        "orders": sum(day.orders for day in current_days),
        "before": previous_days,
        "total_before": formats.format_amount(total_before, currency),
        "orders_before": sum(day.orders for day in previous_days),
        "comparisons": _build_comparisons(current_days, previous_days),
    }


dashboard.cards.add(
    dashboard.Card(pgettext_lazy("home", "Sales"), "payments", SALES, Order, _today, order=5, query="view=all")
)
dashboard.sections.add(dashboard.Section("panel/orders/sales.html", CHART, _chart))
