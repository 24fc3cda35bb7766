"""Calculate the taxes of a date range by rate, region and period: on sales, on refunds, and the difference.

The taxes on sales count on the day the order was processed, the taxes on refunds on the day the refund was processed.
Days are in the shop's time zone. Items that were removed without a refund do not count as sales, so the taxes on an
order minus the taxes on its refunds are the order's current taxes. Of canceled orders, only what was refunded counts as
sales. Test orders are excluded. Amounts are in the shop currency. Orders in other currencies are counted separately.

The database adds up the taxes, because a period may have millions of orders. The taxes are stored as JSON, for which
each database has its own SQL.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple, TypeVar

from django.db import connection
from django.db.models import DateField, F, JSONField, QuerySet
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce

from apps.core.money import ZERO
from apps.core.tenancy.scope import get_current_shop
from apps.orders.domain.sales_report import DateRange
from apps.orders.models import Order
from apps.refunds.domain.refund_report import STEPS, RefundReportRange
from apps.refunds.models import Refund

# The database adds up thousandths, because SQLite has no exact decimals.
_THOUSANDTH = Decimal("0.001")
_SQL = {
    "postgresql": """
        SELECT r.period,
            coalesce(nullif(r.address ->> 'country_code', ''), r.address ->> 'country', ''),
            coalesce(nullif(r.address ->> 'province_code', ''), r.address ->> 'province', ''),
            t.title, t.rate, sum(t.price * 1000)
        FROM ({rows}) r CROSS JOIN LATERAL jsonb_to_recordset(r.taxes) t (title text, rate text, price numeric)
        GROUP BY 1, 2, 3, 4, 5
    """,
    "sqlite": """
        SELECT r.period,
            coalesce(nullif(json_extract(r.address, '$.country_code'), ''), json_extract(r.address, '$.country'), ''),
            coalesce(nullif(json_extract(r.address, '$.province_code'), ''), json_extract(r.address, '$.province'), ''),
            json_extract(t.value, '$.title'), json_extract(t.value, '$.rate'),
            sum(CAST(round(CAST(json_extract(t.value, '$.price') AS REAL) * 1000) AS INTEGER))
        FROM ({rows}) r CROSS JOIN json_each(r.taxes) t
        GROUP BY 1, 2, 3, 4, 5
    """,
}
Key = TypeVar("Key", bound=tuple[Any, ...])


class TaxKey(NamedTuple):
    """A tax in a region and period. Country and province are codes, or names if the address has no codes."""

    period: date
    country: str
    province: str
    title: str
    rate: Decimal


@dataclass(frozen=True, slots=True, order=True)
class TaxAmounts:
    """The taxes on sales and on refunds, and ``net``, the difference."""

    sales: Decimal = ZERO
    refunds: Decimal = ZERO

    @property
    def net(self) -> Decimal:
        return self.sales - self.refunds

    def __add__(self, other: "TaxAmounts") -> "TaxAmounts":
        return TaxAmounts(self.sales + other.sales, self.refunds + other.refunds)


@dataclass(frozen=True, slots=True)
class _Source:
    """Rows with taxes.

    Attributes:
        moment: The path to the time that counts.
        order: The path to the order, ending in ``__``.
        taxes: The expression for the taxes.
        is_refund: True if the taxes count as refunded, False if they count as sold.
    """

    rows: QuerySet[Any]
    moment: str
    order: str
    taxes: Combinable
    is_refund: bool = False

    def filter_range(self, span: DateRange) -> QuerySet[Any]:
        """Return the rows of a date range, without test orders. The index on each time begins with the shop."""
        begin, end = span.bounds
        shop = f"{self.moment.removesuffix('processed_at')}shop"
        conditions = {f"{self.moment}__gte": begin, f"{self.moment}__lt": end, shop: get_current_shop()}
        return self.rows.filter(**conditions, **{f"{self.order}test": False}).order_by()


def _get_sources() -> tuple[_Source, ...]:
    orders, refunds = Order.objects.filter(cancelled_at=None), Refund.objects.all()
    current = Coalesce("current_tax_lines", "tax_lines", output_field=JSONField())
    return (
        _Source(orders, "processed_at", "", current),
        _Source(refunds, "order__processed_at", "order__", F("tax_lines")),
        _Source(refunds, "processed_at", "order__", F("tax_lines"), is_refund=True),
    )


def get_taxes(span: RefundReportRange) -> Mapping[TaxKey, TaxAmounts]:
    """Return the taxes by period, region, title and rate."""
    sums: dict[TaxKey, TaxAmounts] = {}
    for source in _get_sources():
        for key, amount in _read_sums(source, span):
            more = TaxAmounts(refunds=amount) if source.is_refund else TaxAmounts(sales=amount)
            sums[key] = sums.get(key, TaxAmounts()) + more
    return sums


def group_taxes(taxes: Mapping[TaxKey, TaxAmounts], get_key: Callable[[TaxKey], Key]) -> list[tuple[Key, TaxAmounts]]:
    """Add up the taxes with the same key, and sort them by key. Sums without any tax are left out."""
    sums: dict[Key, TaxAmounts] = {}
    for tax, amounts in taxes.items():
        key = get_key(tax)
        sums[key] = sums.get(key, TaxAmounts()) + amounts
    return sorted((key, amounts) for key, amounts in sums.items() if amounts.sales or amounts.refunds)


def count_other_currencies(span: DateRange) -> tuple[int, int]:
    """Return the numbers of orders and refunds in other currencies, which the report leaves out."""
    orders, _sold, refunds = _get_sources()
    currency = get_current_shop().currency
    return (
        orders.filter_range(span).exclude(currency=currency).count(),
        refunds.filter_range(span).exclude(order__currency=currency).count(),
    )


def _read_sums(source: _Source, span: RefundReportRange) -> Iterator[tuple[TaxKey, Decimal]]:
    rows = (
        source.filter_range(span)
        .filter(**{f"{source.order}currency": get_current_shop().currency})
        .annotate(
            period=STEPS[span.step](source.moment, output_field=DateField()),
            address=Coalesce(f"{source.order}shipping_address", f"{source.order}billing_address"),
            taxes=source.taxes,
        )
        .values_list("period", "address", "taxes")
    )
    sql, parameters = rows.query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(_SQL[connection.vendor].format(rows=sql), parameters)
        for period, country, province, title, rate, thousandths in cursor.fetchall():
            key = TaxKey(_parse_day(period), country, province, title, Decimal(rate))
            yield key, Decimal(thousandths) * _THOUSANDTH


def _parse_day(value: date | str) -> date:
    """Return the date that the database returns, as a timestamp or as text."""
    if isinstance(value, str):
        return date.fromisoformat(value[:10])
    return value.date() if isinstance(value, datetime) else value
