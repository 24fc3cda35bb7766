"""Calculate the discounts of a date range by code or reason and by period.

Orders count as in the sales report: on the day they were processed, in the shop's time zone, without canceled orders
and test orders. Discounts on items that were removed without a refund do not count. Refunds are not subtracted. Amounts
are in the shop currency, and orders in other currencies are counted separately. Gift cards are payments, not discounts.

The database adds up the discounts, because a period may have millions of orders. The allocations are stored as JSON,
for which each database has its own SQL.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeAlias

from django.db import connection
from django.db.models import DateField, F, Q, QuerySet, Value

from apps.core.money import ZERO, get_decimal_places
from apps.core.tenancy.scope import get_current_shop
from apps.orders.domain.sales_report import DaySales
from apps.orders.models import LineItem, Order, ShippingLine
from apps.refunds.domain.refund_report import STEPS, RefundReportRange

# The result of ``sales_report.get_sales_by_day`` for the range of the report.
SalesByDay: TypeAlias = Mapping[date, DaySales]

CODE = "discount_code"
# The title of discounts without a title (``apps.orders.domain.pricing``).
_NO_TITLE = "Discount"
# The database adds up thousandths, because SQLite has no exact decimals.
_THOUSANDTH = Decimal("0.001")
# Each row of the inner query is a row of an order with its allocations. The portion of the sold items is rounded half
# up to ``unit`` thousandths, the smallest amount of the currency.
_SQL = {
    "postgresql": """
        SELECT {columns}, count(DISTINCT order_id), count(DISTINCT customer_id), sum(amount),
            sum(CASE WHEN kind = 'discount_code' THEN amount ELSE 0 END)
        FROM (
            SELECT r.period, r.order_id, r.customer_id, d.details ->> 'type' AS kind,
                coalesce(nullif(d.details ->> 'code', ''), nullif(d.details ->> 'title', ''),
                    d.details ->> 'description', '') AS name,
                CASE WHEN r.sold = r.total THEN a.amount * 1000
                    ELSE div(a.amount * 2000 * r.sold + r.total * {unit}, r.total * 2 * {unit}) * {unit}
                END AS amount
            FROM ({rows}) r
            CROSS JOIN LATERAL jsonb_to_recordset(r.allocations) a (amount numeric, discount_application_index int)
            CROSS JOIN LATERAL (SELECT r.applications -> a.discount_application_index AS details) d
        ) discounts
        WHERE amount > 0
        GROUP BY {keys}
    """,
    "sqlite": """
        SELECT {columns}, count(DISTINCT order_id), count(DISTINCT customer_id), sum(amount),
            sum(CASE WHEN kind = 'discount_code' THEN amount ELSE 0 END)
        FROM (
            SELECT period, order_id, customer_id, json_extract(details, '$.type') AS kind,
                coalesce(nullif(json_extract(details, '$.code'), ''), nullif(json_extract(details, '$.title'), ''),
                    json_extract(details, '$.description'), '') AS name,
                CASE WHEN sold = total THEN thousandths
                    ELSE (thousandths * 2 * sold + total * {unit}) / (total * 2 * {unit}) * {unit}
                END AS amount
            FROM (
                SELECT r.*,
                    CAST(round(CAST(json_extract(a.value, '$.amount') AS REAL) * 1000) AS INTEGER) AS thousandths,
                    json_extract(r.applications,
                        '$[' || json_extract(a.value, '$.discount_application_index') || ']') AS details
                FROM ({rows}) r CROSS JOIN json_each(r.allocations) a
            )
        ) discounts
        WHERE amount > 0
        GROUP BY {keys}
    """,
}
# The columns of a discount, and the keys that group them. Codes are compared regardless of case.
_DISCOUNT = ("kind, min(name)", "kind, CASE WHEN kind = 'discount_code' THEN upper(name) ELSE name END")
_PERIOD = ("period", "period")


@dataclass(frozen=True, slots=True, order=True)
class Discount:
    """A discount code, or the reason of a discount of another ``kind``. The reason is blank if none was given."""

    kind: str
    name: str

    @property
    def has_code(self) -> bool:
        return self.kind == CODE


@dataclass(frozen=True, slots=True)
class DiscountTotals:
    """The discounts in a row of the report. ``sales`` and ``all_discounts`` are those of the row's whole period.

    ``customers`` counts each customer once. Orders without a customer are not counted there.
    """

    orders: int
    customers: int
    amount: Decimal
    with_code: Decimal
    sales: Decimal = ZERO
    all_discounts: Decimal = ZERO

    @property
    def share(self) -> Decimal:
        """Return the amount in percent of the sales before discounts."""
        before = self.sales + self.all_discounts
        return self.amount * 100 / before if before else ZERO


def get_discounts(span: RefundReportRange, sales_by_day: SalesByDay) -> list[tuple[Discount, DiscountTotals]]:
    """Return what each code or reason gave in the whole range, largest amount first."""
    sums = [
        (Discount(kind, _remove_default_title(kind, name)), values)
        for (kind, name), values in _read_sums(span, _DISCOUNT)
    ]
    total = sum((values.amount for _discount, values in sums), ZERO)
    sales = sum((day.amount for day in sales_by_day.values()), ZERO)
    rows = [(discount, replace(values, sales=sales, all_discounts=total)) for discount, values in sums]
    return sorted(rows, key=lambda row: (-row[1].amount, row[0]))


def get_discounts_by_period(span: RefundReportRange, sales_by_day: SalesByDay) -> list[tuple[date, DiscountTotals]]:
    """Return the discounts of each period that has any, earliest first."""
    sales = _group_by_period(span, sales_by_day)
    rows = [(_parse_day(period), values) for (period,), values in _read_sums(span, _PERIOD)]
    rows.sort(key=lambda row: row[0])
    return [(day, replace(values, sales=sales.get(day, ZERO), all_discounts=values.amount)) for day, values in rows]


def get_discounts_by_period_and_name(
    span: RefundReportRange, sales_by_day: SalesByDay
) -> list[tuple[date, Discount, DiscountTotals]]:
    """Return what each code or reason gave in each period, earliest first."""
    sales = _group_by_period(span, sales_by_day)
    totals: dict[date, Decimal] = {}
    rows = []
    for (period, kind, name), values in _read_sums(span, _PERIOD, _DISCOUNT):
        day = _parse_day(period)
        totals[day] = totals.get(day, ZERO) + values.amount
        rows.append((day, Discount(kind, _remove_default_title(kind, name)), values))
    rows.sort(key=lambda row: (row[0], -row[2].amount, row[1]))
    return [
        (day, discount, replace(values, sales=sales.get(day, ZERO), all_discounts=totals[day]))
        for day, discount, values in rows
    ]


def count_other_currencies(span: RefundReportRange) -> int:
    """Return the number of orders with discounts in other currencies, which the report leaves out."""
    begin, end = span.bounds
    orders = Order.objects.filter(processed_at__gte=begin, processed_at__lt=end, cancelled_at=None, test=False)
    return orders.exclude(currency=get_current_shop().currency).filter(total_discounts__gt=0).order_by().count()


def _remove_default_title(kind: str, name: str) -> str:
    return "" if kind != CODE and name == _NO_TITLE else name


def _group_by_period(span: RefundReportRange, sales_by_day: SalesByDay) -> dict[date, Decimal]:
    sales: dict[date, Decimal] = {}
    for day, values in sales_by_day.items():
        period = span.get_period_start(day)
        sales[period] = sales.get(period, ZERO) + values.amount
    return sales


def _read_sums(span: RefundReportRange, *groups: tuple[str, str]) -> Iterator[tuple[tuple[Any, ...], DiscountTotals]]:
    """Yield the values of the columns with the sums of each group, which consists of columns and keys in SQL."""
    rows = _get_rows(span, LineItem.objects.all(), F("current_quantity") + F("refunded_quantity"), F("quantity"))
    rows = rows.union(_get_rows(span, ShippingLine.objects.all(), Value(1), Value(1)), all=True)
    sql, parameters = rows.query.sql_with_params()
    unit = 10 ** (3 - get_decimal_places(get_current_shop().currency))
    columns, keys = (", ".join(parts) for parts in zip(*groups, strict=True))
    with connection.cursor() as cursor:
        cursor.execute(_SQL[connection.vendor].format(columns=columns, keys=keys, rows=sql, unit=unit), parameters)
        for *key, orders, customers, thousandths, with_code in cursor.fetchall():
            amounts = (Decimal(number) * _THOUSANDTH for number in (thousandths, with_code))
            yield tuple(key), DiscountTotals(orders, customers, *amounts)


def _get_rows(span: RefundReportRange, rows: QuerySet[Any], sold: Any, quantity: Any) -> QuerySet[Any]:
    """Return the discounted rows of the orders that count. The index on the time begins with the shop."""
    begin, end = span.bounds
    shop = get_current_shop()
    is_counted = Q(order__cancelled_at=None, order__test=False, order__currency=shop.currency)
    return (
        rows.filter(is_counted, order__shop=shop, order__processed_at__gte=begin, order__processed_at__lt=end)
        .filter(discount__gt=0)
        .order_by()
        .annotate(
            period=STEPS[span.step]("order__processed_at", output_field=DateField()),
            customer_id=F("order__customer_id"),
            applications=F("order__discount_applications"),
            allocations=F("discount_allocations"),
            sold=sold,
            total=quantity,
        )
        .values_list("period", "order_id", "customer_id", "applications", "allocations", "sold", "total")
    )


def _parse_day(value: date | str) -> date:
    """Return the date that the database returns, as a timestamp or as text."""
    if isinstance(value, str):
        return date.fromisoformat(value[:10])
    return value.date() if isinstance(value, datetime) else value
