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

WRITES = 200
CLAIMS = 100


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
                " WHERE id >= %s AND id < %s AND state = 'due'",
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
