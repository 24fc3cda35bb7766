"""Calculate the sales of a date range by day, by new and returning customers, and by product.

Days are days in the shop's time zone. A sale is an order that is neither canceled nor a test. An order counts on the
day it was processed. Items added by edits are included, but items removed by edits are not. Refunds are in the refund
report. Amounts are in the shop currency. Orders in other currencies are counted separately.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal

from django.db.models import Case, Count, DecimalField, Exists, F, Func, OuterRef, Q, QuerySet, Sum, When
from django.db.models.functions import Round, TruncDate
from django.utils import timezone

from apps.core.money import ZERO, get_decimal_places
from apps.core.tenancy.scope import get_current_shop
from apps.orders.models import LineItem, Order

MAX_DAYS = 366
MAX_PRODUCTS = 10_000
_AMOUNT = DecimalField(max_digits=32, decimal_places=3)


@dataclass(frozen=True, slots=True)
class DateRange:
    """The date range of a report, including the first and the last day."""

    first: date
    last: date

    @property
    def bounds(self) -> tuple[datetime, datetime]:
        zone = timezone.get_current_timezone()
        ends = (self.first, self.last + timedelta(days=1))
        begin, end = (datetime.combine(day, time(), tzinfo=zone) for day in ends)
        return begin, end

    @property
    def previous(self) -> "DateRange":
        count = (self.last - self.first).days + 1
        return DateRange(self.first - timedelta(days=count), self.last - timedelta(days=count))

    def iter_days(self) -> Iterator[date]:
        for number in range((self.last - self.first).days + 1):
            yield self.first + timedelta(days=number)


@dataclass(frozen=True, slots=True)
class DaySales:
    """The sales of a day in the shop currency, and the number of orders in other currencies."""

    orders: int = 0
    amount: Decimal = ZERO
    other_currencies: int = 0


@dataclass(frozen=True, slots=True)
class DayCustomers:
    """The number of a day's orders: of all, from customers who had ordered before, and of first-time customers."""

    orders: int = 0
    returning: int = 0
    first: int = 0

    @property
    def unknown(self) -> int:
        return self.orders - self.returning - self.first


@dataclass(frozen=True, slots=True)
class ProductSales:
    """Sales of a product: number of orders, sold quantity and amount.

    Items removed by edits do not count. The amount is after discounts. It includes taxes but not shipping and duties.
    """

    name: str
    orders: int
    quantity: int
    amount: Decimal


def get_sales_by_day(days: DateRange) -> dict[date, DaySales]:
    """Return the sales by day. Days without sales are omitted."""
    in_shop_currency = Q(currency=get_current_shop().currency)
    rows = (
        _get_sales(days)
        .annotate(day=TruncDate("processed_at"))
        .values_list("day")
        .annotate(
            number=Count("pk", filter=in_shop_currency),
            money=Sum(F("total_price") - F("total_removed"), filter=in_shop_currency),
            others=Count("pk", filter=~in_shop_currency),
        )
    )
    return {day: DaySales(orders, money or ZERO, other_currencies) for day, orders, money, other_currencies in rows}


def get_customers_by_day(days: DateRange) -> dict[date, DayCustomers]:
    """Return each day's orders by kind of customer. All of a customer's simultaneous first orders count as first."""
    earlier = Order.rows().filter(
        customer=OuterRef("customer"), processed_at__lt=OuterRef("processed_at"), cancelled_at=None, test=False
    )
    rows = (
        _get_sales(days)
        .filter(currency=get_current_shop().currency)
        .annotate(day=TruncDate("processed_at"), returns=Exists(earlier.order_by()))
        .values_list("day")
        .annotate(
            number=Count("pk"),
            returning=Count("pk", filter=Q(returns=True)),
            known=Count("customer"),
        )
    )
    return {
        day: DayCustomers(orders, returning, with_customer - returning)
        for day, orders, returning, with_customer in rows
    }


def get_best_sellers(days: DateRange) -> list[ProductSales]:
    """Return the sales by product, largest amount first. Items without a product are grouped by title."""
    begin, end = days.bounds
    shop = get_current_shop()
    net = F("price") * F("sold") - _sold_share("discount")
    amount = Case(When(order__taxes_included=True, then=net), default=net + _sold_share("tax"), output_field=_AMOUNT)
    rows = (
        LineItem.rows()
        .filter(order__shop=shop, order__processed_at__gte=begin, order__processed_at__lt=end)
        .filter(order__cancelled_at=None, order__test=False, order__currency=shop.currency)
        .order_by()
        .alias(sold=F("current_quantity") + F("refunded_quantity"))
        .filter(sold__gt=0)
        .annotate(named=Case(When(product=None, then=F("title")), default=F("product__title")))
        .values_list("product", "named")
        .annotate(orders=Count("order", distinct=True), units=Sum("sold"), money=Sum(amount))
        .order_by("-money", "named", "product")
    )
    return [ProductSales(name, orders, units, money) for _, name, orders, units, money in rows[:MAX_PRODUCTS]]


def _sold_share(column: str) -> Round:
    # The amount is multiplied by 1.0, because SQLite would use integer division for whole numbers.
    exact = Func(F(column), template="(%(expressions)s * 1.0)", output_field=_AMOUNT)
    part = exact * F("sold") / F("quantity")
    return Round(part, get_decimal_places(get_current_shop().currency), output_field=_AMOUNT)


def _get_sales(days: DateRange) -> QuerySet[Order]:
    begin, end = days.bounds
    return Order.rows().filter(processed_at__gte=begin, processed_at__lt=end, cancelled_at=None, test=False).order_by()
