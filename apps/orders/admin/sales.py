"""Sales on the home page: what was sold today as a figure, and day by day as a chart."""

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from django.db.models import Count, Sum
from django.db.models.functions import TruncDate
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import ngettext, pgettext_lazy

from apps.ground import languages
from apps.ground.money import ZERO
from apps.ground.tenancy import current_shop
from apps.orders.models import Order
from apps.panel import home
from apps.panel.charts import bars_of, pairs_of
from apps.panel.requests import Context
from apps.panel.screens.filters import midnight
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
    """The last days up to today, those without an order too.

    Cancelled and test orders are no sales, and only amounts in the shop's currency can be added up.
    """
    today = timezone.localdate()
    first = today - timedelta(days=count - 1)
    currency = current_shop().currency
    rows = (
        Order.rows()
        .filter(processed_at__gte=midnight() - timedelta(days=count - 1), processed_at__lte=timezone.now())
        .filter(cancelled_at=None, test=False, currency=currency)
        .order_by()
        .annotate(day=TruncDate("processed_at"))
        .values_list("day")
        .annotate(Sum("total_price"), Count("pk"))
    )
    found = {day: (total, orders) for day, total, orders in rows}
    shown = [first + timedelta(days=number) for number in range(count)]
    totals = [found.get(day, (ZERO, 0)) for day in shown]
    bars = bars_of([(total, "") for total, _ in totals])
    return [
        Day(day, total, languages.amount(total, currency), orders, bar.height)
        for day, (total, orders), bar in zip(shown, totals, bars, strict=True)
    ]


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
    asked = request.GET.get("days", "")
    chosen = int(asked) if asked in {str(count) for count in RANGES} else DEFAULT_RANGE
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
