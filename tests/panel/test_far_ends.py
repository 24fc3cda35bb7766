"""Lists that something typed narrows: their pages, wherever in the list the rows stand that fit.

Rule: performance, panel lists.
"""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.customers.models import Customer
from apps.ground.tenancy import shop_scope
from apps.orders.models import Order
from apps.panel.admin_base import filtered_pagination
from apps.shops.models import Shop
from tests import parts
from tests.orders.factories import make_order
from tests.panel.conftest import Panel, PanelWith

LIST, ROWS, SIZE = "orders_order_changelist", 40, 25
OLD = datetime(2026, 3, 2, 12, tzinfo=UTC)
ON_THE_OLD_DAY = {"processed_from": "2026-03-02", "processed_to": "2026-03-02"}
# The columns by their place in the list.
BY_TOTAL, BY_TOTAL_DOWN = "4", "-4"
SAID = "matching rows are sorted"


@pytest.fixture
def panel(shop: Shop, panel_with: PanelWith) -> Panel:
    """Of forty orders the first thirty are of one old day, the later the earlier in it; totals fall by the number."""
    with shop_scope(shop):
        first = make_order(shop)
        values = {field.attname: getattr(first, field.attname) for field in Order._meta.concrete_fields}
        for name in ("id", "number", "token", "name", "version"):
            values.pop(name)
        Order.objects.bulk_create(
            Order(**values, number=first.number + place, token=f"token-{place}", name=f"#{place}")
            for place in range(1, ROWS)
        )
        for place, order in enumerate(Order.objects.order_by("id")):
            is_old = place < 30
            order.name = f"#{place}"
            order.processed_at = OLD - timedelta(minutes=place) if is_old else OLD + timedelta(days=place)
            order.total_price = Decimal(100 - place)
            order.save()
    return panel_with("orders", "edit_orders")


def counting(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Let lists count so far."""
    for module in ("paging", "far_ends", "lists"):
        monkeypatch.setattr(f"apps.panel.admin_base.{module}.COUNTED", most)
    monkeypatch.setattr(filtered_pagination, "SCAN_SIZES", (2, most))


def listed(panel: Panel, **query: str) -> tuple[list[int], str]:
    """The places of the orders of a page of 25, and what it says."""
    answer = panel.get(LIST, size=str(SIZE), **query)
    rows = [int(order.name.removeprefix("#")) for order in answer.context["cl"].result_list]
    return rows, answer.content.decode()


def test_few_that_fit_are_sorted_over_all_pages(panel: Panel) -> None:
    upwards = list(reversed(range(30)))

    assert listed(panel, o=BY_TOTAL, **ON_THE_OLD_DAY)[0] == upwards[:SIZE]
    assert listed(panel, o=BY_TOTAL, p="2", **ON_THE_OLD_DAY)[0] == upwards[SIZE:]
    assert listed(panel, o=BY_TOTAL_DOWN, total_to="90")[0] == list(range(10, 10 + SIZE))
    assert SAID not in listed(panel, o=BY_TOTAL, **ON_THE_OLD_DAY)[1]


def test_days_are_listed_by_time_unless_somebody_sorts(panel: Panel) -> None:
    assert listed(panel, **ON_THE_OLD_DAY)[0] == list(range(SIZE))
    assert listed(panel, p="2", **ON_THE_OLD_DAY)[0] == list(range(SIZE, 30))
    assert listed(panel, total_to="90")[0] == list(reversed(range(15, ROWS)))
    assert listed(panel)[0] == list(reversed(range(15, ROWS)))


@pytest.mark.parametrize("query", [{}, {"o": BY_TOTAL}, {"o": BY_TOTAL_DOWN}])
def test_of_many_that_are_near_the_first_are_shown(
    panel: Panel, monkeypatch: pytest.MonkeyPatch, query: dict[str, str]
) -> None:
    whole = listed(panel, total_from="1", **query)[0]
    counting(monkeypatch, 35)

    page, text = listed(panel, total_from="1", **query)

    assert page == whole
    assert SAID not in text
    assert len(listed(panel, total_from="1", p="2", **query)[0]) == 10


def test_of_many_at_the_far_end_some_are_sorted_and_it_says_so(panel: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    counting(monkeypatch, 28)

    # Among the 28 cheapest orders are 18 of the day; so its 28 latest are sorted, which are the first ones made.
    page, text = listed(panel, o=BY_TOTAL, **ON_THE_OLD_DAY)

    assert page == list(reversed(range(3, 28)))
    assert f"28 {SAID}" in text
    assert listed(panel, o=BY_TOTAL, p="2", **ON_THE_OLD_DAY)[0] == [2, 1, 0]


@pytest.mark.parametrize("most", [28, 31])
def test_two_filters_leave_what_fits_both(panel: Panel, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Whether or not one of them leaves few rows by itself."""
    counting(monkeypatch, most)

    assert listed(panel, total_to="90", **ON_THE_OLD_DAY)[0] == list(range(10, 30))
    assert listed(panel, total_to="90", o=BY_TOTAL, **ON_THE_OLD_DAY)[0] == list(reversed(range(10, 30)))
    assert listed(panel, total_to="10", **ON_THE_OLD_DAY)[0] == []


@pytest.mark.postgres
def test_an_old_day_is_read_by_its_index(panel: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    counting(monkeypatch, 28)
    with CaptureQueriesContext(connection) as captured:
        listed(panel, view="all", **ON_THE_OLD_DAY)

    (sql,) = (each["sql"] for each in captured if 'ORDER BY "orders_order"."processed_at"' in each["sql"])
    assert "orders_order_by_processing" in _plan(sql)


@pytest.mark.skipif(parts.on_postgres(), reason="counts the steps of SQLite's machine")
def test_sqlite_takes_each_row_that_fits_once(shop: Shop, panel_with: PanelWith) -> None:
    """Joined with the rows it would look for each of them through the keys of all, which took seconds for 5,000.

    So it does where it knows of how many rows there are.
    """
    made = 500
    with shop_scope(shop):
        Customer.objects.bulk_create(Customer(shop=shop, first_name=f"Ada {number}") for number in range(made))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    panel = panel_with("customers")
    thousands: list[None] = []

    for order in ("5", "-6"):
        panel.get("customers_customer_changelist", spent_to="500", o=order)
        connection.connection.set_progress_handler(lambda: thousands.append(None), 1_000)
        panel.get("customers_customer_changelist", spent_to="500", o=order)
        connection.connection.set_progress_handler(None, 0)

        assert len(thousands) * 1_000 / made < 400
        thousands.clear()


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("name", "query", "order", "index"),
    [
        (LIST, {"o": BY_TOTAL_DOWN}, "total_price", "orders_order_open_by_total"),
        ("catalog_variant_changelist", {"o": "4"}, "price", "catalog_variant_by_price"),
        ("catalog_variant_changelist", {"o": "-1"}, "title_key", "catalog_product_by_title_desc"),
        ("catalog_product_changelist", {"o": "5"}, "vendor_key", "catalog_product_by_vendor"),
    ],
)
def test_a_sort_is_read_from_an_index(owner: Panel, name: str, query: dict[str, str], order: str, index: str) -> None:
    with CaptureQueriesContext(connection) as captured:
        owner.get(name, **query)

    (sql,) = (each["sql"] for each in captured if f'."{order}" ' in each["sql"].rpartition("ORDER BY")[2])
    assert index in _plan(f"{sql} LIMIT 5")


def _plan(sql: str) -> str:
    """What PostgreSQL would do; so few rows are read as quickly in any way, so it is asked which index serves."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off")
        cursor.execute("EXPLAIN " + sql.replace("%", "%%"))
        rows: list[Any] = cursor.fetchall()
    return "\n".join(row[0] for row in rows)
