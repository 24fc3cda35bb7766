"""Sales on the home page: what was sold today as a figure, and day by day as a chart."""

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import ngettext, pgettext_lazy

from apps.ground import languages
from apps.ground.money import ZERO
from apps.ground.tenancy import current_shop
from apps.orders.domain.reporting import Days, Sold, sold_by_day
from apps.orders.models import Order
from apps.panel import home
from apps.panel.charts import bars_of, pairs_of
from apps.panel.requests import Context
from apps.staff.domain.permissions import grant_custom

SALES, CHART = "orders.view_sales", "orders.view_sales_chart"
RANGES = (7, 30, 90)
DEFAULT_RANGE = 30

grant_custom("dashboard", SALES, reads=True)
grant_custom("overviews", CHART, reads=True)


@dataclass(frozen=True, slots=True)
class Day:
    """What was sold on one day of the shop, and the height of its bar."""

    day: date
    total: Decimal
    text: str
    orders: int
    height: int


def days(count: int) -> list[Day]:
    """The last days up to today, those without an order too."""
    today, currency = timezone.localdate(), current_shop().currency
    span = Days(today - timedelta(days=count - 1), today)
    found = sold_by_day(span)
    shown = [(day, found.get(day, Sold())) for day in span.each()]
    bars = bars_of([(sold.money, "") for _, sold in shown])
    return [
        Day(day, sold.money, languages.amount(sold.money, currency), sold.orders, bar.height)
        for (day, sold), bar in zip(shown, bars, strict=True)
    ]


def days_at_home(request: HttpRequest) -> int:
    """How many days the home page shows."""
    asked = request.GET.get("days", "")
    return int(asked) if asked in {str(count) for count in RANGES} else DEFAULT_RANGE


def _label(day: Day, currency: str) -> str:
    said = ngettext("{day}: {money}, {count} order", "{day}: {money}, {count} orders", day.orders)
    return said.format(day=languages.dated(day.day, "j M"), money=f"{day.text} {currency}", count=day.orders)


def _today(request: HttpRequest) -> home.Figure:
    (today,) = days(1)
    note = ngettext(
        "{currency} sold today, {count} order", "{currency} sold today, {count} orders", today.orders
    ).format(currency=current_shop().currency, count=today.orders)
    return home.Figure(today.text, note)


def _chart(request: HttpRequest) -> Context:
    chosen = days_at_home(request)
    both, currency = days(2 * chosen), current_shop().currency
    before, shown = both[:chosen], both[chosen:]
    total, total_before = (sum((day.total for day in span), ZERO) for span in (shown, before))
    pairs = list(zip(shown, before, strict=True))
    return {
        "days": shown,
        "rows": pairs[::-1],
        "ranges": [(count, count == chosen) for count in RANGES],
        "count": chosen,
        "pairs": pairs_of([(then.total, day.total, _label(day, currency)) for day, then in pairs]),
        "currency": currency,
        "total": languages.amount(total, currency),
        "orders": sum(day.orders for day in shown),
        "before": before,
        "total_before": languages.amount(total_before, currency),
        "orders_before": sum(day.orders for day in before),
    }


home.add_card(home.Card(pgettext_lazy("home", "Sales"), "payments", SALES, Order, _today, order=5, query="view=all"))
home.add_section(home.Section("panel/orders/sales.html", CHART, _chart))
