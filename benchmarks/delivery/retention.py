"""Measure the cost of deleting old deliveries row by row, and the cost of partitioned tables for dispatchers.

The floor for the deletion is dropping a table with the same rows. For the second measurement, the deliveries are moved
into thirty partitions, one per day of retention, and claims and results are measured with and without partitions. Both
measurements need PostgreSQL.
"""

import statistics
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from benchmarks.delivery.backlog import copy_deliveries
from benchmarks.delivery.environment import (
    create_shop_with_subscriptions,
    delete_deliveries,
    fan_out_all,
    fill_events,
    get_percentile,
)
from benchmarks.scale import scale

PARTITIONS = 30
ROUNDS = scale(60)


def measure_retention(rows: int) -> dict[str, Any]:
    """Measure the deletion of a thirtieth of the rows, the floor, and claims before and during the deletion."""
    from django.db import connection
    from django.utils import timezone

    from apps.core.tenancy.scope import all_shops_scope
    from apps.webhooks.domain import retention

    room = _fill(4000, rows)
    old = rows // PARTITIONS
    with connection.cursor() as cursor:
        cursor.execute("SELECT min(id) FROM webhooks_delivery")
        first = cursor.fetchone()[0]
        cursor.execute(
            "UPDATE webhooks_delivery SET created_at = %s, finished_at = %s WHERE id < %s AND state = 'done'",
            [*([timezone.now() - timedelta(days=31)] * 2), first + old],
        )
        cursor.execute(
            "UPDATE webhooks_attempt SET created_at = now() - interval '31 days' WHERE delivery_id < %s", [first + old]
        )
        cursor.execute("CREATE TABLE floor AS SELECT * FROM webhooks_attempt WHERE delivery_id < %s", [first + old])
        cursor.execute("VACUUM ANALYZE")
        began = time.perf_counter()
        cursor.execute("DROP TABLE floor")
        dropped = time.perf_counter() - began
    before = _claims(room)
    result: list[Any] = []

    def clear() -> None:
        began = time.perf_counter()
        with all_shops_scope():
            result.append(retention.delete_expired_rows(timezone.now()))
        result.append(time.perf_counter() - began)
        connection.close()

    worker = threading.Thread(target=clear)
    worker.start()
    during = _claims(room, worker.is_alive)
    worker.join()
    delete_deliveries()
    return {
        "rows": rows,
        "cleared": result[0],
        "cleared_a_second": round(result[0] / result[1]),
        "floor_ms_drop": round(dropped * 1000, 1),
        "claim_and_result_p95_ms_before": round(get_percentile(before, 0.95) * 1000, 1),
        "claim_and_result_p95_ms_during": round(get_percentile(during, 0.95) * 1000, 1),
    }


def measure_partitions(rows: int) -> dict[str, Any]:
    """Measure claiming a hundred deliveries and writing their results, in one table and in thirty partitions."""
    room = _fill(4100, rows)
    undivided = _claims(room)
    _divide()
    parts = _claims(room)
    delete_deliveries()
    return {
        "rows": rows,
        "whole_p50_ms": round(statistics.median(undivided) * 1000, 2),
        "parts_p50_ms": round(statistics.median(parts) * 1000, 2),
        "ratio": round(statistics.median(parts) / statistics.median(undivided), 2),
    }


def _fill(number: int, rows: int) -> dict[int, int]:
    """Insert finished deliveries with an attempt, and due deliveries; return the claim size for each endpoint."""
    from django.db import connection

    from apps.webhooks.domain.engine import maintenance

    delete_deliveries()
    shop = create_shop_with_subscriptions(number, [f"http://127.0.0.1:9/{index}" for index in range(10)])
    fill_events(shop, 200)
    fan_out_all()
    copy_deliveries(rows)
    with connection.cursor() as cursor:
        cursor.execute("SELECT max(id) FROM webhooks_delivery")
        waiting = cursor.fetchone()[0] - 4 * ROUNDS * 100
        cursor.execute(
            "UPDATE webhooks_delivery SET state = 'done', finished_at = now(), attempts = 1 WHERE id < %s", [waiting]
        )
        cursor.execute(
            """
            INSERT INTO webhooks_attempt (created_at, updated_at, shop_id, delivery_id, number, outcome, status, error,
              fenced, queued_ms, total_ms, response_headers, excerpt)
            SELECT created_at, created_at, shop_id, id, 1, 'ok', 200, '', false, 1, 20,
              '{"Content-Type": "text/plain"}', 'OK'
            FROM webhooks_delivery WHERE id < %s
            """,
            [waiting],
        )
        cursor.execute("VACUUM ANALYZE")
    return dict.fromkeys([index.endpoint for index in maintenance.scan_endpoints()], 10)


def _claims(room: dict[int, int], go_on: Callable[[], bool] = lambda: True) -> list[float]:
    """Return the duration of each claim in seconds, including writing the results."""
    from apps.webhooks.domain.engine import claims, results
    from apps.webhooks.domain.engine.dispatcher.endpoint_slots import AttemptKind
    from apps.webhooks.domain.engine.results import DeliveryResult

    took: list[float] = []
    while len(took) < ROUNDS and go_on():
        began = time.perf_counter()
        deliveries = claims.claim_deliveries(room, AttemptKind.DUE)
        assert len(deliveries) == 10 * len(room), (len(deliveries), room)
        assert not results.write_results(
            [DeliveryResult(item, "done", outcome="ok", status=200) for item in deliveries]
        )
        took.append(time.perf_counter() - began)
    return took


def _divide() -> None:
    """Move the deliveries into partitions with the same indexes, except unique indexes.

    In a partitioned table, a unique index must contain the partition key.
    """
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT min(id), max(id) FROM webhooks_delivery")
        first, last = cursor.fetchone()
        step = (last - first) // PARTITIONS + 1
        cursor.execute(
            "SELECT indexdef FROM pg_indexes WHERE tablename = 'webhooks_delivery' AND indexdef NOT LIKE '%UNIQUE%'"
        )
        indexes = [definition for (definition,) in cursor.fetchall()]
        cursor.execute("ALTER TABLE webhooks_attempt DROP CONSTRAINT IF EXISTS " + _foreign_key(cursor))
        cursor.execute("ALTER TABLE webhooks_delivery RENAME TO whole")
        cursor.execute("CREATE TABLE webhooks_delivery (LIKE whole INCLUDING DEFAULTS) PARTITION BY RANGE (id)")
        for number in range(PARTITIONS):
            start = first + number * step
            bounds = f"FROM ({start}) TO ({start + step})"
            cursor.execute(f"CREATE TABLE part_{number} PARTITION OF webhooks_delivery FOR VALUES {bounds}")
        cursor.execute("INSERT INTO webhooks_delivery SELECT * FROM whole")
        cursor.execute("ALTER TABLE webhooks_delivery ADD PRIMARY KEY (id)")
        for definition in indexes:
            cursor.execute(definition.replace("INDEX webhooks_", "INDEX parts_"))
        cursor.execute("DROP TABLE whole CASCADE")
        cursor.execute("ALTER TABLE webhooks_attempt ADD FOREIGN KEY (delivery_id) REFERENCES webhooks_delivery (id)")
        cursor.execute("VACUUM ANALYZE")


def _foreign_key(cursor: Any) -> str:
    cursor.execute(
        "SELECT conname FROM pg_constraint WHERE conrelid = 'webhooks_attempt'::regclass"
        " AND confrelid = 'webhooks_delivery'::regclass"
    )
    return str(cursor.fetchone()[0])
