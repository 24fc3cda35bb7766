"""Sales on the home page: what was sold today as a figure, and day by day as a chart."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from django.db.models import Count, Sum
from django.db.models.functions import TruncDate
from django.http import HttpRequest
from django.utils import timezone

from apps.ground.money import ZERO, text_of
from apps.ground.tenancy import current_shop
from apps.orders.models import Order
from apps.panel import home
from apps.panel.requests import Context
from apps.panel.screens.filters import midnight
from apps.staff.domain.permissions import grant_custom

SALES, CHART = "orders.view_sales", "orders.view_sales_chart"
RANGES = (7, 30, 90)
DEFAULT_RANGE = 30
BAR = 10  # the width of a day in the chart, with the gap beside it

grant_custom("dashboard", SALES)
grant_custom("overviews", CHART)


@dataclass(frozen=True, slots=True)
class Day:
    """What was sold on one day of the shop, and its bar: ``height`` is its share of the best day, in percent."""

    day: date
    total: Decimal
    text: str
    orders: int
    left: int
    height: int

    @property
    def top(self) -> int:
        """Where the bar begins, from above."""
        return 100 - self.height


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
    best = max((total for total, _ in found.values()), default=ZERO)
    return list(_filled(found, first, count, best, currency))


def _filled(
    found: dict[date, tuple[Decimal, int]], first: date, count: int, best: Decimal, currency: str
) -> Iterator[Day]:
    for number in range(count):
        day = first + timedelta(days=number)
        total, orders = found.get(day, (ZERO, 0))
        height = max(round(100 * total / best), 1) if best else 1
        yield Day(day, total, text_of(total, currency), orders, number * BAR, height)


def _today(request: HttpRequest) -> home.Figure:
    (today,) = days(1)
    note = f"{current_shop().currency} sold today, {today.orders} order{'' if today.orders == 1 else 's'}"
    return home.Figure(today.text, note)


def _chart(request: HttpRequest) -> Context:
    asked = request.GET.get("days", "")
    chosen = int(asked) if asked in {str(count) for count in RANGES} else DEFAULT_RANGE
    shown, currency = days(chosen), current_shop().currency
    total = sum((day.total for day in shown), ZERO)
    return {
        "days": shown,
        "ranges": [(count, count == chosen) for count in RANGES],
        "count": chosen,
        "width": chosen * BAR,
        "currency": currency,
        "total": text_of(total, currency),
        "orders": sum(day.orders for day in shown),
    }


home.add_card(home.Card("Sales", "payments", SALES, "orders_order_changelist", _today, order=5, query="view=all"))
home.add_section(home.Section("panel/orders/sales.html", CHART, _chart))
