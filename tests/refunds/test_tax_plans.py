"""The queries of the tax report read only the orders and refunds of the period."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.orders.models import Order
from apps.refunds.domain import tax_report
from apps.refunds.domain.refund_report import RefundReportRange
from apps.refunds.domain.tax_report import TaxAmounts
from apps.refunds.models import Refund
from tests.support.databases.statistics import collect_statistics

ROWS = 6_000
START = datetime(2015, 1, 1, tzinfo=UTC)
TAX_LINES = [{"title": "VAT", "rate": "0.19", "price": "1.90"}]


def add_crowd(shop: Shop) -> None:
    """Add an order for each of 6,000 days, and a refund for every third order."""
    with shop_scope(shop):
        orders = Order.objects.bulk_create(
            [
                Order(
                    shop=shop,
                    number=number + 1,
                    name=f"#{number + 1001}",
                    currency="USD",
                    presentment_currency="USD",
                    processed_at=START + timedelta(days=number),
                    tax_lines=TAX_LINES,
                )
                for number in range(ROWS)
            ],
            batch_size=1000,
        )
        Refund.objects.bulk_create(
            [
                Refund(shop=shop, order=order, processed_at=order.processed_at, tax_lines=TAX_LINES)
                for order in orders[::3]
            ],
            batch_size=1000,
        )
        collect_statistics()


pytestmark = [pytest.mark.shop_with(fill=add_crowd), pytest.mark.usefixtures("in_shop")]


def explain(sql: str) -> str:
    keyword = "EXPLAIN" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
    with connection.cursor() as cursor:
        cursor.execute(f"{keyword} {sql}")
        return "\n".join(str(row[-1]) for row in cursor.fetchall())


def test_the_report_reads_orders_and_refunds_by_an_index_on_their_time() -> None:
    span = RefundReportRange((START + timedelta(days=100)).date(), (START + timedelta(days=107)).date(), "day")

    with CaptureQueriesContext(connection) as queries:
        taxes = tax_report.get_taxes(span)

    totals = sum(taxes.values(), TaxAmounts())
    assert (totals.sales, totals.refunds) == (10 * Decimal("1.90"), 2 * Decimal("1.90"))
    plans = [explain(query["sql"]) for query in queries]
    indexes = ("orders_order_by_processing", "orders_order_by_processing", "refunds_refund_by_moment")
    for plan, index in zip(plans, indexes, strict=True):
        assert index in plan
    assert "refunds_refund_by_order" in plans[1]
