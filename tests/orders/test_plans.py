from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from apps.core.db import planner_statistics
from apps.core.rest.reading.keyset_pagination import filter_by_cursor
from apps.core.rest.resources.filters import apply_filters
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.customers.models import Customer
from apps.orders.api.views import OrderFilter
from apps.orders.models import Order
from tests.support import services
from tests.support.databases.statistics import collect_statistics

ROWS = 6_000
# Two weeks after the first order. The range is so narrow that reading the whole list would be slower.
EARLY = (timezone.now() - timedelta(days=ROWS - 14)).date().isoformat()
# SQLite can also read a shop's orders by id from the index of the shop's foreign key.
IN_ORDER = () if services.is_postgres() else ("orders_order_by_shop", "orders_order_shop_id")


def add_crowd(shop: Shop) -> None:
    start = timezone.now() - timedelta(days=ROWS)
    with shop_scope(shop):
        buyers = Customer.objects.bulk_create([Customer(shop=shop, first_name=f"Buyer{n}") for n in range(600)])
        Order.objects.bulk_create(
            [
                Order(
                    shop=shop,
                    number=number + 1,
                    name=f"#{number + 1001}",
                    currency="USD",
                    presentment_currency="USD",
                    customer=buyers[number % 600],
                    email=f"buyer{number % 600}@example.com",
                    created_at=start + timedelta(days=number),
                    processed_at=start + timedelta(days=number),
                    **(_closed(start) if number % 200 else {}),
                    source_name="web" if number % 300 else "pos",
                    tags="vip" if number % 3 else "",
                    financial_status="paid" if number % 150 else "pending",
                    fulfillment_status="fulfilled" if number % 150 else "partial",
                )
                for number in range(ROWS)
            ],
            batch_size=1000,
        )
        collect_statistics()


pytestmark = [pytest.mark.shop_with(fill=add_crowd), pytest.mark.usefixtures("in_shop")]


def _closed(at: object) -> Attrs:
    return {"status": "closed", "closed_at": at}


@pytest.mark.parametrize(
    ("query", "indexes"),
    [
        ({"status": "open"}, {"orders_order_by_status"}),
        ({"financial_status": "pending"}, {"orders_order_by_payment"}),
        ({"fulfillment_status": "partial"}, {"orders_order_by_fulfillment"}),
        ({"name": "#3000"}, {"orders_order_by_name"}),
        # SQLite has no histograms. It cannot tell that a range is narrow, so it may read the list in order.
        ({"created_at_max": EARLY}, {"orders_order_by_creation", *IN_ORDER}),
        ({"processed_at_max": EARLY}, {"orders_order_by_processing", *IN_ORDER}),
    ],
)
def test_filters_read_an_index(query: dict[str, str], indexes: set[str]) -> None:
    matches = apply_filters(OrderFilter, query, Order.objects.all())
    text = str(filter_by_cursor(matches, ("-id",), None).values_list("pk")[:51].explain())

    assert any(index in text for index in indexes), text
    assert "SCAN orders_order" not in text.replace("SCAN orders_order USING", "")
    assert "Seq Scan on orders_order" not in text


def test_orders_of_a_customer_read_an_index() -> None:
    buyer = Customer.objects.latest("pk")
    orders = Order.objects.filter(customer=buyer, status="closed")
    text = str(filter_by_cursor(orders, ("-id",), None).values_list("pk")[:51].explain())

    assert "orders_order_by_customer" in text or "orders_order_of_customer" in text, text


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("condition", "there"),
    [
        ("source_name <> '' AND upper(source_name) = 'WEB'", ROWS - ROWS / 300),
        ("source_name <> '' AND upper(source_name) = 'POS'", ROWS / 300),
        ("tags <> '' AND string_to_array(upper(tags), ', ') @> ARRAY['VIP']", ROWS * 2 / 3),
        ("tags <> '' AND string_to_array(upper(tags), ', ') @> ARRAY['NOSUCH']", ROWS / 400),
    ],
)
def test_the_number_of_orders_with_a_channel_or_tag_is_estimated(condition: str, there: float) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) SELECT id FROM orders_order WHERE {condition}")
        (((plan,),),) = cursor.fetchall()

    # Without statistics, PostgreSQL estimates one row in 200 for every value.
    assert there / 2 <= plan["Plan"]["Plan Rows"] <= there * 2


@pytest.mark.postgres
def test_few_orders_next_to_a_large_shop_are_read_by_their_shop() -> None:
    query_plan = _plan_for_every_shop()
    assert "orders_order_pkey" not in query_plan, query_plan

    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # A table with pending constraint checks cannot be altered.
        cursor.execute("ALTER TABLE orders_order ALTER COLUMN shop_id RESET (n_distinct)")
        cursor.execute("ANALYZE orders_order")
    assert "orders_order_pkey" in _plan_for_every_shop()

    planner_statistics.set_shop_id_statistics(using="default")
    assert _plan_for_every_shop() == query_plan


def _plan_for_every_shop() -> str:
    """Return the generic plan of the list's query, which PostgreSQL uses for all shops."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        cursor.execute(
            "PREPARE listed AS SELECT id, version FROM orders_order WHERE shop_id = $1 ORDER BY id DESC LIMIT 51"
        )
        cursor.execute("EXPLAIN (COSTS OFF) EXECUTE listed(1)")
        text = "\n".join(line for (line,) in cursor.fetchall())
        cursor.execute("DEALLOCATE listed")
    return text
