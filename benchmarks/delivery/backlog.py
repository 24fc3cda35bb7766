"""Measure the cost of webhooks for writes, and the webhook engine with a large backlog."""

import statistics
import time
from typing import Any

from benchmarks.delivery.environment import (
    create_shop_with_subscriptions,
    delete_deliveries,
    fan_out_all,
    fill_events,
    get_percentile,
)
from benchmarks.scale import get_exit_code, scale

WRITES = scale(200)
CLAIMS = scale(100)
SIZES = (10, 1000, 100_000, 1_000_000)
ENDPOINTS = (1, 1000)
# A claim from the largest backlog may take this many times as long per delivery as a claim from the smallest.
MAX_CLAIM_RATIO = 10


def measure_write() -> dict[str, Any]:
    """Measure the CPU time of creating a customer with 0, 1 and 20 subscriptions.

    The measurements alternate, so that other load affects all of them.
    """
    from django.utils import timezone

    from apps.core.tenancy.models import Shop
    from apps.core.tenancy.scope import shop_scope
    from apps.customers.domain.customers import create_customer

    shops = {
        count: create_shop_with_subscriptions(
            2000 + count,
            [f"http://127.0.0.1:9/{number}" for number in range(count)],
            scopes=("read_customers",),
            topic="customers/create",
        )
        for count in (0, 1, 20)
    }
    used_seconds: dict[int, list[float]] = {count: [] for count in shops}
    for number in range(WRITES + 20):
        for count, shop in shops.items():
            with shop_scope(Shop.objects.get(pk=shop.pk)):
                began = time.thread_time()
                create_customer(
                    {"first_name": "Ada", "email": f"c{number}@example.com"}, actor="system", at=timezone.now()
                )
                used_seconds[count].append(time.thread_time() - began)
    delete_deliveries()
    medians = {count: statistics.median(values[20:]) * 1000 for count, values in used_seconds.items()}
    figures = {f"ms_with_{count}": round(median, 3) for count, median in medians.items()}
    return figures | {f"ratio_{count}": round(medians[count] / medians[0], 2) for count in (1, 20)}


def measure_backlog(rows: int) -> dict[str, Any]:
    """Measure claims of ten deliveries for each of ten endpoints, and the endpoint scan, with a large backlog."""
    from django.db import connection

    from apps.webhooks.domain.engine import claims, maintenance
    from apps.webhooks.domain.engine.dispatcher.endpoint_slots import AttemptKind

    shop = create_shop_with_subscriptions(3000, [f"http://127.0.0.1:9/{number}" for number in range(10)])
    fill_events(shop, 200)
    fan_out_all()
    copy_deliveries(rows)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    endpoints = [item.endpoint for item in maintenance.scan_endpoints()]
    room = dict.fromkeys(endpoints, 10)
    claimed, scanned = [], []
    for _ in range(CLAIMS):
        began = time.perf_counter()
        assert len(claims.claim_deliveries(room, AttemptKind.DUE)) == 10 * len(endpoints)
        claimed.append(time.perf_counter() - began)
        began = time.perf_counter()
        maintenance.scan_endpoints()
        scanned.append(time.perf_counter() - began)
    delete_deliveries()
    return {
        "rows": rows,
        "claim_of_100_p50_ms": round(get_percentile(claimed, 0.5) * 1000, 1),
        "claim_of_100_p95_ms": round(get_percentile(claimed, 0.95) * 1000, 1),
        "scan_p95_ms": round(get_percentile(scanned, 0.95) * 1000, 1),
    }


def measure_claims(largest: int) -> dict[str, Any]:
    """Measure claims of up to ten deliveries for each of ten endpoints, for each size of the backlog.

    The last sizes are an ordered subscription with few resources, so most deliveries wait for others.

    Each size is measured with 1 and 1,000 endpoints, and with PostgreSQL's statistics from three times: never, before
    the backlog existed, and with the backlog. The statements are planned before the backlog exists. Raises
    ``SystemExit`` if a large backlog makes claims slow.
    """
    from django.db import connection

    if connection.vendor != "postgresql":
        return {"skipped": "SQLite collects no statistics"}
    create_endpoints()
    figures: dict[str, float] = {}
    for rows in (size for size in SIZES if size <= largest):
        for endpoints in ENDPOINTS:
            for measured in (_measure_claims_without_statistics, _measure_claims_with_statistics):
                for statistics_from, value in measured(rows, endpoints).items():
                    figures[f"{rows} rows, {endpoints} endpoints, statistics {statistics_from}"] = value
    fastest = min(value for name, value in figures.items() if name.startswith(f"{SIZES[0]} rows"))
    slow = {name: value for name, value in figures.items() if value > MAX_CLAIM_RATIO * max(fastest, 0.1)}
    if get_exit_code(bool(slow)):
        raise SystemExit(f"Claims of these backlogs are slow (ms per delivery, the fastest takes {fastest}): {slow}")
    ordered = {rows: _measure_ordered_claims(rows) for rows in SIZES[1:3] if rows <= largest}
    if max(ordered.values()) > MAX_CLAIM_RATIO * max(min(ordered.values()), 0.1):
        raise SystemExit(f"Claims of ordered deliveries are slow (ms per delivery by size of the backlog): {ordered}")
    return figures | {f"{rows} ordered rows, 3 resources": value for rows, value in ordered.items()}


def _measure_claims_without_statistics(rows: int, endpoints: int) -> dict[str, float]:
    _empty_deliveries()
    return {"none": _measure_claim(rows, endpoints)}


def _measure_claims_with_statistics(rows: int, endpoints: int) -> dict[str, float]:
    """Measure with statistics from before the backlog existed, then with statistics of the backlog."""
    from django.db import connection

    _empty_deliveries()
    fill_deliveries(1000, 10, "done")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE webhooks_delivery")
        before = _measure_claim(rows, endpoints)
        cursor.execute("ANALYZE webhooks_delivery")
    return {"before": before, "after": _measure_claim(0, endpoints)}


def _empty_deliveries() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE webhooks_delivery, webhooks_attempt")
        cursor.execute("DELETE FROM pg_statistic WHERE starelid = 'webhooks_delivery'::regclass")
        cursor.execute("DISCARD PLANS")


def _measure_claim(rows: int, endpoints: int) -> float:
    """Fill the backlog, and return the median time of a claim in milliseconds per claimed delivery."""
    from django.db import connection

    from apps.webhooks.domain.engine import claims, maintenance
    from apps.webhooks.domain.engine.dispatcher.endpoint_slots import AttemptKind

    claims.claim_deliveries({1: 1}, AttemptKind.DUE)
    maintenance.scan_endpoints()
    fill_deliveries(rows, endpoints, "due")
    free_slots = {item.endpoint: 10 for item in maintenance.scan_endpoints()[:10]}
    times = []
    with connection.cursor() as cursor:
        for _ in range(20):
            began = time.perf_counter()
            claimed = claims.claim_deliveries(free_slots, AttemptKind.DUE)
            times.append((time.perf_counter() - began) / len(claimed))
            cursor.execute("UPDATE webhooks_delivery SET state = 'due' WHERE state = 'leased'")
    return round(statistics.median(times) * 1000, 3)


def _measure_ordered_claims(rows: int) -> float:
    """Return the milliseconds per delivery of a claim and its results, after claims have postponed other deliveries."""
    from django.db import connection

    from apps.webhooks.domain.engine import claims, maintenance, results
    from apps.webhooks.domain.engine.dispatcher.endpoint_slots import AttemptKind

    _empty_deliveries()
    fill_deliveries(rows, 1, "due")
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO events_event (id, key, created_at, updated_at, shop_id, topic, subject_type, subject_id,"
            ' subject_label, actor, message, changes, "group", request_id)'
            " SELECT id, key, now(), now(), shop_id, topic, 'x', id % 3, '', '', '', '{}', key, ''"
            " FROM webhooks_delivery"
        )
        cursor.execute(
            "UPDATE webhooks_delivery SET event_id = id, ordering_key = 'x:' || id % 3, created_at = next_at"
        )
    free_slots = {item.endpoint: 10 for item in maintenance.scan_endpoints()}
    while claims.postpone_waiting([*free_slots], AttemptKind.DUE):
        pass
    times = []
    for _ in range(20):
        began = time.perf_counter()
        claimed = claims.claim_deliveries(free_slots, AttemptKind.DUE)
        results.write_results([results.DeliveryResult(claim, "done", outcome="ok", status=200) for claim in claimed])
        times.append((time.perf_counter() - began) / len(claimed))
    return round(statistics.median(times) * 1000, 3)


def create_endpoints() -> None:
    from django.db import connection

    shop = create_shop_with_subscriptions(3200, ["http://127.0.0.1:9/"])
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO webhooks_payload (created_at, updated_at, shop_id, digest, body)"
            " SELECT now(), now(), %s, 'p' || n, repeat('x', 2000)::bytea FROM generate_series(1, 100) n",
            [shop.pk],
        )
        cursor.execute(
            "INSERT INTO webhooks_endpoint (created_at, updated_at, shop_id, uri, uri_digest, host, max_in_flight)"
            " SELECT now(), now(), %s, 'http://127.0.0.1:9/' || n, 'e' || n, '127.0.0.1:9', 10"
            " FROM generate_series(1, %s) n",
            [shop.pk, max(ENDPOINTS)],
        )
        cursor.execute("ANALYZE webhooks_payload, webhooks_endpoint")
        # Insert a million rows without a time limit, and without checking foreign keys.
        cursor.execute("SET statement_timeout = 0; SET session_replication_role = replica")


def fill_deliveries(rows: int, endpoints: int, state: str) -> None:
    """Insert deliveries to the endpoints that ``create_endpoints`` has created, without events."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            """
INSERT INTO webhooks_delivery (created_at, updated_at, shop_id, key, kind, app_id, subscription_id, endpoint_id,
  payload_id, topic, api_version, ordering_key, state, next_at, attempts, redelivery, triggered_at, error)
SELECT now(), now(), s.shop_id, gen_random_uuid(), 'event', s.app_id, s.id, e.id, p.id, s.topic, s.api_version, '', %s,
  now() - (%s - n) * interval '1 millisecond', 0, false, now(), ''
FROM generate_series(1, %s) n
CROSS JOIN (SELECT * FROM webhooks_subscription ORDER BY id DESC LIMIT 1) s
JOIN webhooks_endpoint e ON e.uri_digest = 'e' || (n %% %s + 1)
JOIN webhooks_payload p ON p.digest = 'p' || (n %% 100 + 1)
""",
            [state, rows, rows, endpoints],
        )


def copy_deliveries(rows: int) -> None:
    """Copy the due deliveries until there are about ``rows`` copies. The copies have no events."""
    from django.db import connection

    from apps.core.tenancy.scope import all_shops_scope
    from apps.webhooks.models import Delivery

    with all_shops_scope():
        waiting = Delivery.objects.filter(state="due")
        there, first = waiting.count(), waiting.order_by("pk").values_list("pk", flat=True)[0]
    columns = ", ".join(
        str(field.column) for field in Delivery._meta.concrete_fields if field.name not in {"id", "event", "key"}
    )
    key = "gen_random_uuid()" if connection.vendor == "postgresql" else "lower(hex(randomblob(16)))"
    with connection.cursor() as cursor:
        for _ in range(rows // there):
            cursor.execute(
                f"INSERT INTO webhooks_delivery (key, {columns}) SELECT {key}, {columns} FROM webhooks_delivery"
                " WHERE id >= %s AND id < %s AND state = 'due' ORDER BY id",
                [first, first + there],
            )


def measure_recovery(rows: int) -> dict[str, Any]:
    """Measure how fast dead letters are rescheduled for replay, and the rate of the planned replays."""
    from django.conf import settings
    from django.db.models import Max, Min
    from django.utils import timezone

    from apps.core.jobs import queue
    from apps.core.tenancy.models import Shop
    from apps.core.tenancy.scope import all_shops_scope, shop_scope
    from apps.webhooks.domain import replay
    from apps.webhooks.models import Delivery, Subscription

    shop = create_shop_with_subscriptions(3100, ["http://127.0.0.1:9/"])
    fill_events(shop, 1000)
    fan_out_all()
    copy_deliveries(rows)
    with all_shops_scope():
        Delivery.objects.filter(shop=shop).update(state="dead", finished_at=timezone.now(), attempts=9)
        subscription = Subscription.objects.get(shop=shop)
    with shop_scope(Shop.objects.get(pk=shop.pk)):
        job = replay.replay_dead_letters(subscription, actor="system", at=timezone.now())
    began, used = time.perf_counter(), time.process_time()
    queue.run_job(job.key)
    lasted, used = time.perf_counter() - began, time.process_time() - used
    with all_shops_scope():
        moved = Delivery.objects.filter(shop=shop, state="retry")
        ends = moved.aggregate(first=Min("next_at"), last=Max("next_at"))
        count = moved.count()
    delete_deliveries()
    return {
        "recovered": count,
        "rows_a_second": round(count / lasted),
        "processor_ms": round(used / count * 1000, 3),
        "planned_a_second": round(count / max(1.0, (ends["last"] - ends["first"]).total_seconds())),
        "allowed_a_second": settings.WEBHOOK_REPLAYS_PER_SECOND,
    }
