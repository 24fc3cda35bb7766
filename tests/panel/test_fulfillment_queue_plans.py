import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from benchmarks.fulfillment_queue import fill_orders
from tests.support.databases.statistics import collect_statistics
from tests.support.panel.client import Panel
from tests.support.subtests import Subtests

ROWS = 4_000
LIST = "fulfillment_fulfillmentorder_changelist"
PLACES: dict[str, tuple[int, int]] = {}


def add_work(shop: Shop) -> None:
    with shop_scope(shop):
        PLACES["first, second"] = fill_orders(shop, ROWS)
        collect_statistics()


pytestmark = [pytest.mark.postgres, pytest.mark.shop_with(fill=add_work)]


def explain_page(panel: Panel, query: Attrs) -> list[str]:
    """Return the query plans for the queue's counts and rows."""
    with CaptureQueriesContext(connection) as captured:
        response = panel.get(LIST, **query)
    assert response.status_code == 200
    results = []
    for statement in captured.captured_queries:
        sql = statement["sql"]
        if 'FROM "fulfillment_fulfillmentorder"' in sql and "LIMIT" in sql:
            with connection.cursor() as cursor:
                # Disable sequential scans, because they are just as fast for a few rows.
                cursor.execute("SET LOCAL enable_seqscan = off")
                cursor.execute("EXPLAIN " + sql.replace("%", "%%"))
                results.append("\n".join(line for (line,) in cursor.fetchall()))
    return results


def test_the_work_list_reads_its_index_in_order(owner_client: Panel) -> None:
    _, second = PLACES["first, second"]
    with Subtests() as checks:
        for query in ({}, {"p": "20"}, {"view": "today"}, {"location": second}, {"service": "own"}):
            with checks(query):
                *counts, page = explain_page(owner_client, query)
                assert all("Limit" in count for count in counts), counts
                assert "Seq Scan on fulfillment_fulfillmentorder" not in page, page
                assert "fulfillment_order_work" in page or "fulfillment_order_by_location" in page, page
                assert query or ("fulfillment_order_work" in page and "Sort" not in page), page
