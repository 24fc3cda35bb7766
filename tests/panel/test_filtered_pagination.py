from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.core.admin.lists import filtered_pagination
from apps.core.tenancy.models import Shop
from apps.customers.models import Customer
from apps.orders.models import Order
from tests.support import services
from tests.support.factories.orders import make_order
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.long_lists import fill_lists

LIST, ROWS, SIZE = "orders_order_changelist", 40, 25
OLD = datetime(2026, 3, 2, 12, tzinfo=UTC)
ON_THE_OLD_DAY = {"processed_from": "2026-03-02", "processed_to": "2026-03-02"}
# The index of the total's column, for sorting the list in ascending and in descending order.
BY_TOTAL, BY_TOTAL_DOWN = "4", "-4"
SAID = "of the matching rows are sorted"


@pytest.fixture
def order_client(in_shop: Shop, order_client: Panel) -> Panel:
    """Create forty orders with decreasing totals. The first thirty orders are from one day, latest first."""
    first = make_order(in_shop)
    values = {field.attname: getattr(first, field.attname) for field in Order._meta.concrete_fields}
    for name in ("id", "number", "token", "name", "version"):
        values.pop(name)
    Order.objects.bulk_create(
        Order(**values, number=first.number + index, token=f"token-{index}", name=f"#{index}")
        for index in range(1, ROWS)
    )
    for index, order in enumerate(Order.objects.order_by("id")):
        is_old = index < 30
        order.name = f"#{index}"
        order.processed_at = OLD - timedelta(minutes=index) if is_old else OLD + timedelta(days=index)
        order.total_price = Decimal(100 - index)
        order.save()
    return order_client


def limit_counting(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    for module in ("paginator", "filtered_pagination", "changelist"):
        monkeypatch.setattr(f"apps.core.admin.lists.{module}.MAX_COUNTED_ROWS", most)
    monkeypatch.setattr(filtered_pagination, "SCAN_SIZES", (2, most))


def list_orders(panel: Panel, **query: str) -> tuple[list[int], str]:
    """Return the indexes of the orders on a page of 25 rows, and the page's HTML."""
    response = panel.get(LIST, size=str(SIZE), **query)
    rows = [int(order.name.removeprefix("#")) for order in response.context["cl"].result_list]
    return rows, response.content.decode()


def test_few_that_fit_are_sorted_over_all_pages(order_client: Panel) -> None:
    upwards = list(reversed(range(30)))
    assert list_orders(order_client, o=BY_TOTAL, **ON_THE_OLD_DAY)[0] == upwards[:SIZE]
    assert list_orders(order_client, o=BY_TOTAL, p="2", **ON_THE_OLD_DAY)[0] == upwards[SIZE:]
    assert list_orders(order_client, o=BY_TOTAL_DOWN, total_to="90")[0] == list(range(10, 10 + SIZE))
    assert SAID not in list_orders(order_client, o=BY_TOTAL, **ON_THE_OLD_DAY)[1]


def test_days_are_sorted_by_time_by_default(order_client: Panel) -> None:
    assert list_orders(order_client, **ON_THE_OLD_DAY)[0] == list(range(SIZE))
    assert list_orders(order_client, p="2", **ON_THE_OLD_DAY)[0] == list(range(SIZE, 30))
    assert list_orders(order_client, total_to="90")[0] == list(reversed(range(15, ROWS)))
    assert list_orders(order_client)[0] == list(reversed(range(15, ROWS)))


@pytest.mark.parametrize("query", [{}, {"o": BY_TOTAL}, {"o": BY_TOTAL_DOWN}])
def test_the_first_rows_are_shown(order_client: Panel, monkeypatch: pytest.MonkeyPatch, query: dict[str, str]) -> None:
    total = list_orders(order_client, total_from="1", **query)[0]
    limit_counting(monkeypatch, 35)

    page, text = list_orders(order_client, total_from="1", **query)

    assert page == total
    assert SAID not in text
    assert len(list_orders(order_client, total_from="1", p="2", **query)[0]) == 10


def test_far_pages_are_partly_sorted_and_say_so(order_client: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    limit_counting(monkeypatch, 28)

    # Only 18 of the 28 orders with the lowest totals are from that day, so the list sorts the day's 28 latest orders.
    page, text = list_orders(order_client, o=BY_TOTAL, **ON_THE_OLD_DAY)

    assert page == list(reversed(range(3, 28)))
    assert f"28 {SAID}" in text
    assert list_orders(order_client, o=BY_TOTAL, p="2", **ON_THE_OLD_DAY)[0] == [2, 1, 0]


@pytest.mark.parametrize("most", [28, 31])
def test_two_filters_leave_what_fits_both(order_client: Panel, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Check two combined filters, when the day matches more rows than lists count and when it matches fewer."""
    limit_counting(monkeypatch, most)

    assert list_orders(order_client, total_to="90", **ON_THE_OLD_DAY)[0] == list(range(10, 30))
    assert list_orders(order_client, total_to="90", o=BY_TOTAL, **ON_THE_OLD_DAY)[0] == list(reversed(range(10, 30)))
    assert list_orders(order_client, total_to="10", **ON_THE_OLD_DAY)[0] == []


@pytest.mark.postgres
@pytest.mark.shop_with(fill=fill_lists)
def test_an_old_day_is_read_by_its_index(owner_client: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    limit_counting(monkeypatch, 20)
    day = (timezone.now() - timedelta(days=100)).date().isoformat()
    with CaptureQueriesContext(connection) as captured:
        owner_client.get(LIST, view="all", processed_from=day, processed_to=day)

    (sql,) = (query["sql"] for query in captured if 'ORDER BY "orders_order"."processed_at"' in query["sql"])
    assert "orders_order_by_processing" in _plan(sql)


@pytest.mark.skipif(services.is_postgres(), reason="counts the steps of SQLite's machine")
def test_sqlite_takes_each_row_that_fits_once(in_shop: Shop, admin_client_with: PanelWith) -> None:
    """Check that SQLite does not run the filter as a join, which would take seconds for 5,000 rows.

    With table statistics, SQLite would choose the join.
    """
    count = 500
    Customer.objects.bulk_create(Customer(shop=in_shop, first_name=f"Ada {number}") for number in range(count))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    panel = admin_client_with("customers")
    for order in ("5", "-6"):
        thousands: list[None] = []
        panel.get("customers_customer_changelist", spent_to="500", o=order)
        connection.connection.set_progress_handler(partial(thousands.append, None), 1_000)
        panel.get("customers_customer_changelist", spent_to="500", o=order)
        connection.connection.set_progress_handler(None, 0)
        assert len(thousands) * 1_000 / count < 400


@pytest.mark.postgres
@pytest.mark.shop_with(fill=fill_lists)
@pytest.mark.parametrize(
    ("name", "sort", "order", "index"),
    [
        (LIST, BY_TOTAL_DOWN, "total_price", "orders_order_open_by_total"),
        ("catalog_variant_changelist", "4", "price", "catalog_variant_by_price"),
        # The index catalog_product_by_title_desc is as good.
        ("catalog_variant_changelist", "-1", "title_key", "catalog_product_by_title"),
        ("catalog_product_changelist", "5", "vendor_key", "catalog_product_by_vendor"),
    ],
)
def test_sorting_reads_an_index(owner_client: Panel, name: str, sort: str, order: str, index: str) -> None:
    with CaptureQueriesContext(connection) as captured:
        owner_client.get(name, o=sort)

    (sql,) = (query["sql"] for query in captured if f'."{order}" ' in query["sql"].rpartition("ORDER BY")[2])
    assert index in _plan(sql)


def _plan(sql: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN " + sql.replace("%", "%%"))
        rows: list[Any] = cursor.fetchall()
    return "\n".join(row[0] for row in rows)
