"""Measurements of fan-out, delivery rate, latency, hanging endpoints and busy shops."""

import time
from typing import Any

import uvloop

from benchmarks.delivery.environment import (
    create_shop_with_subscriptions,
    delete_deliveries,
    fan_out_all,
    fill_events,
    get_memory_mb,
    get_percentile,
    get_processor_seconds,
    get_rate,
    run_workers,
    wait_for_arrivals,
    warm_up,
)
from benchmarks.delivery.receivers import Receivers, floor


def measure_fan_out(count: int) -> dict[str, Any]:
    """Measure the rate of fan-out for ten subscriptions with a filter of five terms."""
    text = "id:>0 AND title:New* AND -handle:other AND (tags:a OR tags:z) AND commentable:no"
    shop = create_shop_with_subscriptions(1, [f"http://127.0.0.1:9/{number}" for number in range(10)], filter=text)
    fill_events(shop, count // 10)
    began = time.perf_counter()
    delivery_count = fan_out_all()
    figures = {
        "deliveries_a_second": round(delivery_count / (time.perf_counter() - began)),
        "deliveries": delivery_count,
    }
    delete_deliveries()
    return figures


def measure_rate(count: int, workers: int, number: int) -> dict[str, Any]:
    """Measure how fast one or more workers send waiting deliveries to ten endpoints."""
    receivers = Receivers(10)
    shop = create_shop_with_subscriptions(number, [f"http://127.0.0.1:{port}/{port}" for port in receivers.ports])
    fill_events(shop, count // 10)
    fan_out_all()
    before = uvloop.run(floor(receivers.ports))
    receivers.ask("take")
    with run_workers(workers) as running:
        wait_for_arrivals(receivers, 1)
        started = sum(get_processor_seconds(process) for process in running)
        wait_for_arrivals(receivers, count)
        used = sum(get_processor_seconds(process) for process in running) - started
        memory = max(get_memory_mb(process) for process in running)
    arrived = receivers.ask("take")
    after = uvloop.run(floor(receivers.ports))
    results = {
        "deliveries_a_second": round(get_rate(arrived)),
        "processor_ms": round(used / count * 1000, 3),
        "memory_mb": round(memory),
        "twice": len(arrived) - count,
        # The mean of a run before and a run after the measurement, because other load on the machine varies.
        "floor_a_second": round((before[0] + after[0]) / 2),
        "floor_processor_ms": round((before[1] + after[1]) / 2 * 1000, 3),
    }
    results["processor_of_floor"] = round(results["floor_processor_ms"] / results["processor_ms"], 2)
    results["of_floor"] = round(results["deliveries_a_second"] / results["floor_a_second"], 2)
    receivers.stop()
    delete_deliveries()
    return results


def measure_idle_latency(count: int) -> dict[str, Any]:
    """Measure the time from a commit to the arrival of the request if no run is in progress."""
    from django.utils import timezone

    from apps.content.domain.blogs import create_blog
    from apps.core.tenancy.models import Shop
    from apps.core.tenancy.scope import shop_scope

    receivers = Receivers(1)
    shop = create_shop_with_subscriptions(2, [f"http://127.0.0.1:{receivers.ports[0]}/"])
    moments = []
    with run_workers(1):
        warm_up(receivers, shop)
        for number in range(count):
            time.sleep(3)
            with shop_scope(Shop.objects.get(pk=shop.pk)):
                create_blog({"title": "Idle", "handle": f"i{number}"}, actor="system", at=timezone.now())
            committed = time.time()
            wait_for_arrivals(receivers, 1)
            moments.append(max(0.0, receivers.ask("take")[0][0] - committed))
    receivers.stop()
    delete_deliveries()
    return {
        "p50_ms": round(get_percentile(moments, 0.5) * 1000),
        "p90_ms": round(get_percentile(moments, 0.9) * 1000),
    }


def measure_latency(count: int) -> dict[str, Any]:
    """Measure the time from the event to the end of the first attempt, at 500 events per second."""
    from django.utils import timezone

    from apps.content.domain.blogs import create_blog
    from apps.core.tenancy.models import Shop
    from apps.core.tenancy.scope import shop_scope

    receivers = Receivers(1)
    shop = create_shop_with_subscriptions(3, [f"http://127.0.0.1:{receivers.ports[0]}/"], include_fields=["title"])
    with run_workers(1):
        warm_up(receivers, shop)
        began = time.time()
        with shop_scope(Shop.objects.get(pk=shop.pk)):
            for number in range(count):
                create_blog({"title": str(time.time()), "handle": f"b{number}"}, actor="system", at=timezone.now())
                time.sleep(max(0.0, began + number / 500 - time.time()))
        lasted = time.time() - began
        wait_for_arrivals(receivers, count)
    moments = _sent_and_arrived(receivers)
    receivers.stop()
    delete_deliveries()
    return {
        "events_a_second": round(count / lasted),
        "p50_ms": round(get_percentile(moments, 0.5) * 1000),
        "p99_ms": round(get_percentile(moments, 0.99) * 1000),
    }


def _sent_and_arrived(receivers: Receivers) -> list[float]:
    """Return the seconds from each event to the end of the delivery's first attempt."""
    from apps.core.tenancy.scope import all_shops_scope
    from apps.webhooks.models import Delivery

    receivers.ask("take")
    time.sleep(0.5)
    with all_shops_scope():
        rows = Delivery.objects.filter(state="done", subscription__deleted_at=None)
        return [
            (first - triggered).total_seconds()
            for triggered, first in rows.values_list("triggered_at", "first_attempt_at")
            if first is not None
        ]


def measure_hang(count: int, healthy: int, hanging: int, number: int) -> dict[str, Any]:
    """Measure the throughput of healthy endpoints, with and without other endpoints that never respond."""
    results: dict[str, Any] = {}
    for name, bad in (("all_well", 0), ("some_hang", hanging)):
        receivers = Receivers(healthy, bad)
        shop = create_shop_with_subscriptions(
            number + bool(bad), [f"http://127.0.0.1:{port}/{port}" for port in receivers.ports]
        )
        fill_events(shop, count // healthy)
        fan_out_all()
        with run_workers(1):
            until = time.time() + 120
            while time.time() < until:
                arrival_count = receivers.ask("count")
                if arrival_count >= count // healthy * healthy:
                    break
                time.sleep(0.05)
        arrived = [(at, path) for at, path in receivers.ask("take") if int(path[1:]) in receivers.healthy]
        results[name] = round(get_rate(arrived))
        receivers.stop()
        delete_deliveries()
    results["share"] = round(results["some_hang"] / results["all_well"], 2)
    return results


def measure_shops(count: int) -> dict[str, Any]:
    """Measure the delivery delays of 49 shops while another shop creates 90 % of the events."""
    from apps.core.tenancy.scope import all_shops_scope
    from apps.webhooks.models import Delivery

    receivers = Receivers(1)
    uri = f"http://127.0.0.1:{receivers.ports[0]}"
    shops = [create_shop_with_subscriptions(1000 + number, [f"{uri}/{number}"]) for number in range(50)]
    with run_workers(1):
        warm_up(receivers, shops[0])
        fill_events(shops[0], int(count * 0.9))
        for shop in shops[1:]:
            fill_events(shop, int(count * 0.1 / 49))
        total = int(count * 0.9) + 49 * int(count * 0.1 / 49)
        wait_for_arrivals(receivers, total)
    time.sleep(0.5)
    with all_shops_scope():
        rows = Delivery.objects.filter(shop__in=shops[1:], state="done")
        other_rows = [
            (first - triggered_at).total_seconds()
            for triggered_at, first in rows.values_list("triggered_at", "first_attempt_at")
            if first is not None
        ]
    receivers.stop()
    delete_deliveries()
    return {"others_p99_ms": round(get_percentile(other_rows, 0.99) * 1000), "others": len(other_rows)}
