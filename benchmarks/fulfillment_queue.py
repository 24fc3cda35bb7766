"""Measure the database time of the fulfillment queue with 100,000 open fulfillment orders.

``python -m benchmarks.fulfillment_queue`` fills a new shop in the migrated PostgreSQL database of ``DATABASE_URL`` and
opens the list with each view and filter. It prints the planning and execution time of the page's queries, which must be
at most 150 ms. The floor is reading fifty rows by primary key.
"""

import os
import time
from collections.abc import Callable
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.scale import scale

if TYPE_CHECKING:
    from django.test import Client

    from apps.core.tenancy.models import Shop

ROWS = scale(100_000, least=5_000)
ROUNDS = 5
MOST_MS = 150
# SQL expressions for the columns that differ between orders.
APART = {
    "number": "one.number + n",
    "name": "'#' || (1000 + one.number + n)",
    "token": "md5(%(shop)s || '-' || n)",
    "created_at": "one.created_at - n * interval '1 minute'",
}
WORK = """
INSERT INTO fulfillment_fulfillmentorder (
    shop_id, order_id, assigned_location_id, status, request_status, fulfill_at, fulfill_by, method_type,
    presented_name, service_code, source_reference, version, created_at, updated_at
)
SELECT shop_id, id, CASE WHEN number %% 2000 = 0 THEN %(second)s ELSE %(first)s END,
       CASE WHEN number %% 100 = 1 THEN 'on_hold' WHEN number %% 7 = 0 THEN 'in_progress' ELSE 'open' END,
       CASE WHEN number %% 100 = 2 AND number %% 7 > 0 THEN 'submitted' ELSE 'unsubmitted' END,
       created_at, CASE WHEN number %% 10 = 0 THEN created_at + interval '3 days' END, 'shipping',
       '', '', '', number, created_at, created_at
FROM orders_order WHERE shop_id = %(shop)s
"""
UNITS = """
INSERT INTO fulfillment_fulfillmentorderline (
    shop_id, fulfillment_order_id, line_item_id, quantity, fulfilled_quantity, fulfillable_quantity, created_at,
    updated_at
)
SELECT work.shop_id, work.id, line.id, line.quantity, 0, line.quantity, work.created_at, work.created_at
FROM fulfillment_fulfillmentorder work JOIN orders_lineitem line ON line.order_id = work.order_id
WHERE work.shop_id = %(shop)s
"""


def main() -> None:
    """Fill the shop, open the pages and print the times."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
    django.setup()

    from django.test import Client
    from django.utils import timezone

    from apps.core.admin.reverse import get_panel_url
    from apps.core.tenancy.models import Membership, User
    from apps.core.tenancy.scope import shop_scope
    from apps.shops.domain import shop_creation

    now = timezone.now()
    domain = f"work-{time.time_ns()}.example"
    shop = shop_creation.create_shop(domain=domain, name="Work", email="a@bench.example", actor="system", at=now)
    user = User.objects.create(email=f"{domain}@bench.example")
    client = Client()
    client.force_login(user)
    with shop_scope(shop):
        Membership.objects.create(shop=shop, user=user, account_owner=False, permissions=["orders", "edit_orders"])
        first, second = fill_orders(shop, ROWS)
        address = get_panel_url(shop, "admin:fulfillment_fulfillmentorder_changelist")
        floor = measure_floor()
    print(f"floor, fifty rows by primary key: {floor:.1f} ms")
    queries = {
        "to fulfill": "",
        "page 200": f"?p={ROWS // 500}",
        "late": "?view=late",
        "due today": "?view=today",
        "requests": "?view=requests",
        "on hold": "?view=held",
        "a large location": f"?location={first}",
        "a small location": f"?location={second}",
        "own fulfillment": "?service=own",
        "status": "?status=in_progress",
        "by number": f"?q={ROWS // 2}",
        "all": "?view=all",
    }
    for name, query in queries.items():
        duration = measure_page(client, address + query)
        print(f"{name:18} {duration:6.1f} ms  {'ok' if duration <= MOST_MS else 'MISSED'}")


def fill_orders(shop: "Shop", rows: int) -> tuple[int, int]:
    """Insert orders with one item and one fulfillment order each, in the current shop.

    One in a hundred fulfillment orders is on hold, one in a hundred is waiting for a service's response, and one in ten
    has a deadline.

    Returns:
        The ids of a location that fulfills nearly all orders, and of a location that fulfills one in 2,000 orders.
    """
    from decimal import Decimal

    from django.db import connection
    from django.utils import timezone

    from apps.inventory.domain import stock
    from apps.inventory.models import Location
    from apps.orders.domain.create import orders
    from apps.orders.domain.create.drafts import OrderParts

    first = stock.get_primary_location()
    second = Location.objects.create(shop=shop, name="Small", country_code="US")
    line = {"title": "Mug", "price": Decimal("10.00"), "quantity": 1}
    orders.create_order({}, OrderParts(lines=[line]), actor="system", at=timezone.now())
    with connection.cursor() as cursor:
        for statement in (
            copy_row_sql("orders_order", "generate_series(1, %(rows)s) n", APART),
            copy_row_sql("orders_lineitem", "orders_order o", {"order_id": "o.id"})
            + " WHERE o.shop_id = %(shop)s AND o.id <> one.order_id",
            WORK,
            UNITS,
        ):
            cursor.execute(statement, {"shop": shop.pk, "rows": rows, "first": first.pk, "second": second.pk})
        for table in ("orders_order", "fulfillment_fulfillmentorder", "fulfillment_fulfillmentorderline"):
            cursor.execute(f"ANALYZE {table}")
    return first.pk, second.pk


def copy_row_sql(table: str, of: str, apart: dict[str, str]) -> str:
    """Return SQL that copies the first row of a shop's table, with different values in some columns."""
    from django.db import connection

    with connection.cursor() as cursor:
        names = [item.name for item in connection.introspection.get_table_description(cursor, table)]
    columns = [name for name in names if name != "id"]
    values = ", ".join(apart.get(name, f'one."{name}"') for name in columns)
    quoted = ", ".join(f'"{name}"' for name in columns)
    first = f"(SELECT * FROM {table} WHERE shop_id = %(shop)s ORDER BY id LIMIT 1) one"
    return f"INSERT INTO {table} ({quoted}) SELECT {values} FROM {first}, {of}"


def measure_floor() -> float:
    """Return the median database time in milliseconds for reading fifty rows by id."""
    from apps.fulfillment.models import FulfillmentOrder

    pks = list(FulfillmentOrder.objects.order_by("-pk").values_list("pk", flat=True)[:50])
    rows = FulfillmentOrder.objects.filter(pk__in=pks).select_related("order", "assigned_location")
    return median(measure_queries(lambda: list(rows.all())) for _ in range(ROUNDS))


def measure_page(client: "Client", address: str) -> float:
    """Return the median database time of a page in milliseconds."""

    def show() -> None:
        response = client.get(address)
        assert response.status_code == 200, (address, response.status_code)

    return median(measure_queries(show) for _ in range(ROUNDS))


def measure_queries(work: Callable[[], object]) -> float:
    """Return the planning and execution time of a function's queries in milliseconds."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as captured:
        work()
    reads = [query["sql"] for query in captured.captured_queries if query["sql"].startswith("SELECT")]
    total = 0.0
    with connection.cursor() as cursor:
        for sql in reads:
            cursor.execute("EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) " + sql)
            ((plan,),) = cursor.fetchall()
            total += plan[0]["Planning Time"] + plan[0]["Execution Time"]
    return total


if __name__ == "__main__":
    main()
