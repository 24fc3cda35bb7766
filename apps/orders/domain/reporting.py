"""What was sold in a span of days: against the days before, to whom, and of which products.

Days are the shop's. A sale is an order that is neither cancelled nor a test, on the day on which it was processed, with
what was agreed: as ordered, with what edits added and without what they took out. What went back is told by the report
of refunds. Amounts are in the shop's currency; orders in others cannot be added up and are counted apart.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal

from django.db.models import Case, Count, DecimalField, Exists, F, Func, OuterRef, Q, QuerySet, Sum, When
from django.db.models.functions import Round, TruncDate
from django.utils import timezone

from apps.ground.money import ZERO, places_of
from apps.ground.tenancy import current_shop
from apps.orders.models import LineItem, Order

MOST_DAYS = 366
MOST_PRODUCTS = 10_000
_AMOUNT = DecimalField(max_digits=32, decimal_places=3)


@dataclass(frozen=True, slots=True)
class Days:
    """The days of a report, both included."""

    first: date
    last: date

    @property
    def moments(self) -> tuple[datetime, datetime]:
        """From when on, and until before when."""
        zone = timezone.get_current_timezone()
        ends = (self.first, self.last + timedelta(days=1))
        begin, end = (datetime.combine(day, time(), tzinfo=zone) for day in ends)
        return begin, end

    @property
    def before(self) -> "Days":
        """As many days, just before."""
        count = (self.last - self.first).days + 1
        return Days(self.first - timedelta(days=count), self.last - timedelta(days=count))

    def each(self) -> Iterator[date]:
        """All of them, those without a sale too."""
        for number in range((self.last - self.first).days + 1):
            yield self.first + timedelta(days=number)


@dataclass(frozen=True, slots=True)
class Sold:
    """What was sold: how many orders, their money, and how many orders in other currencies are not in these."""

    orders: int = 0
    money: Decimal = ZERO
    others: int = 0


@dataclass(frozen=True, slots=True)
class Buyers:
    """Who placed the orders of a day.

    Attributes:
        orders: All of them.
        returning: Those of customers who had bought before.
        first: Those of customers who had not.
    """

    orders: int = 0
    returning: int = 0
    first: int = 0

    @property
    def unknown(self) -> int:
        """Those without a customer."""
        return self.orders - self.returning - self.first


@dataclass(frozen=True, slots=True)
class Seller:
    """A product: in how many orders, how many units, and what these were bought for.

    Units that edits took out are none of them. Its money is the price of its units with discounts and taxes, without
    shipping and duties.
    """

    name: str
    orders: int
    units: int
    money: Decimal


def sold_by_day(days: Days) -> dict[date, Sold]:
    """What was sold, by day; days without a sale are missing."""
    same = Q(currency=current_shop().currency)
    rows = (
        _sales(days)
        .annotate(day=TruncDate("processed_at"))
        .values_list("day")
        .annotate(
            number=Count("pk", filter=same),
            money=Sum(F("total_price") - F("total_removed"), filter=same),
            others=Count("pk", filter=~same),
        )
    )
    return {day: Sold(orders, money or ZERO, others) for day, orders, money, others in rows}


def buyers_by_day(days: Days) -> dict[date, Buyers]:
    """Who bought, by day; a customer's first orders of one and the same moment are all first ones."""
    earlier = Order.rows().filter(
        customer=OuterRef("customer"), processed_at__lt=OuterRef("processed_at"), cancelled_at=None, test=False
    )
    rows = (
        _sales(days)
        .filter(currency=current_shop().currency)
        .annotate(day=TruncDate("processed_at"), returns=Exists(earlier.order_by()))
        .values_list("day")
        .annotate(
            number=Count("pk"),
            returning=Count("pk", filter=Q(returns=True)),
            known=Count("customer"),
        )
    )
    return {day: Buyers(orders, returning, known - returning) for day, orders, returning, known in rows}


def best_sellers(days: Days) -> list[Seller]:
    """Products by what their units were bought for, the most first; what is in no catalog goes by its title."""
    begin, end = days.moments
    shop = current_shop()
    net = F("price") * F("sold") - _portion("discount")
    worth = Case(When(order__taxes_included=True, then=net), default=net + _portion("tax"), output_field=_AMOUNT)
    rows = (
        LineItem.rows()
        .filter(order__shop=shop, order__processed_at__gte=begin, order__processed_at__lt=end)
        .filter(order__cancelled_at=None, order__test=False, order__currency=shop.currency)
        .order_by()
        .alias(sold=F("current_quantity") + F("refunded_quantity"))
        .filter(sold__gt=0)
        .annotate(named=Case(When(product=None, then=F("title")), default=F("product__title")))
        .values_list("product", "named")
        .annotate(orders=Count("order", distinct=True), units=Sum("sold"), money=Sum(worth))
        .order_by("-money", "named", "product")
    )
    return [Seller(name, orders, units, money) for _, name, orders, units, money in rows[:MOST_PRODUCTS]]


def _portion(column: str) -> Round:
    """What an amount of a line comes to for the units that were sold of it."""
    # SQLite divides whole amounts as integers.
    exact = Func(F(column), template="(%(expressions)s * 1.0)", output_field=_AMOUNT)
    part = exact * F("sold") / F("quantity")
    return Round(part, places_of(current_shop().currency), output_field=_AMOUNT)


def _sales(days: Days) -> QuerySet[Order]:
    begin, end = days.moments
    return Order.rows().filter(processed_at__gte=begin, processed_at__lt=end, cancelled_at=None, test=False).order_by()
