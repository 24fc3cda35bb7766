"""What is measured, each with figures of its own."""

import time
from typing import Any

import uvloop

from benchmarks.delivery.receivers import Receivers, floor
from benchmarks.delivery.world import (
    dispatchers,
    fan_out_all,
    fill_events,
    forget,
    memory_mb,
    percentile,
    processor_seconds,
    rate,
    shop_with,
    wait_for,
    warm_up,
)


def measure_fan_out(count: int) -> dict[str, Any]:
    """Deliveries written a second by fan-out, ten subscriptions with a filter of five terms."""
    text = "id:>0 AND title:New* AND -handle:other AND (tags:a OR tags:z) AND commentable:no"
    shop = shop_with(1, [f"http://127.0.0.1:9/{number}" for number in range(10)], filter=text)
    fill_events(shop, count // 10)
    began = time.perf_counter()
    made = fan_out_all()
    found = {"deliveries_a_second": round(made / (time.perf_counter() - began)), "deliveries": made}
    forget()
    return found


def measure_rate(count: int, workers: int, number: int) -> dict[str, Any]:
    """Deliveries a second to ten receivers, by one or more dispatchers; what is delivered waits beforehand."""
    receivers = Receivers(10)
    shop = shop_with(number, [f"http://127.0.0.1:{port}/{port}" for port in receivers.ports])
    fill_events(shop, count // 10)
    fan_out_all()
    before = uvloop.run(floor(receivers.ports))
    receivers.ask("take")
    with dispatchers(workers) as running:
        wait_for(receivers, 1)
        started = sum(processor_seconds(each) for each in running)
        wait_for(receivers, count)
        used = sum(processor_seconds(each) for each in running) - started
        memory = max(memory_mb(each) for each in running)
    arrived = receivers.ask("take")
    after = uvloop.run(floor(receivers.ports))
    found = {
        "deliveries_a_second": round(rate(arrived)),
        "processor_ms": round(used / count * 1000, 3),
        "memory_mb": round(memory),
        "twice": len(arrived) - count,
        # Before and after, as other work on the machine comes and goes.
        "floor_a_second": round((before[0] + after[0]) / 2),
        "floor_processor_ms": round((before[1] + after[1]) / 2 * 1000, 3),
    }
    found["processor_of_floor"] = round(found["floor_processor_ms"] / found["processor_ms"], 2)
    found["of_floor"] = round(found["deliveries_a_second"] / found["floor_a_second"], 2)
    receivers.stop()
    forget()
    return found


def measure_latency(count: int) -> dict[str, Any]:
    """From the event to the receiver, at 500 events a second."""
    from django.utils import timezone

    from apps.content.domain.blogs import create_blog
    from apps.ground.tenancy import shop_scope
    from apps.shops.models import Shop

    receivers = Receivers(1)
    shop = shop_with(3, [f"http://127.0.0.1:{receivers.ports[0]}/"], include_fields=["title"])
    with dispatchers(1):
        warm_up(receivers, shop)
        began = time.time()
        with shop_scope(Shop.objects.get(pk=shop.pk)):
            for number in range(count):
                create_blog({"title": str(time.time()), "handle": f"b{number}"}, actor="system", at=timezone.now())
                time.sleep(max(0.0, began + number / 500 - time.time()))
        lasted = time.time() - began
        wait_for(receivers, count)
    moments = _sent_and_arrived(receivers)
    receivers.stop()
    forget()
    return {
        "events_a_second": round(count / lasted),
        "p50_ms": round(percentile(moments, 0.5) * 1000),
        "p99_ms": round(percentile(moments, 0.99) * 1000),
    }


def _sent_and_arrived(receivers: Receivers) -> list[float]:
    """How long each took, by the attempts' rows: from the event to its first attempt's end."""
    from apps.ground.tenancy import all_shops_scope
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
    """What the healthy receivers get while some accept and never answer, beside what they get when all are well."""
    found: dict[str, Any] = {}
    for name, bad in (("all_well", 0), ("some_hang", hanging)):
        receivers = Receivers(healthy, bad)
        shop = shop_with(number + bool(bad), [f"http://127.0.0.1:{port}/{port}" for port in receivers.ports])
        fill_events(shop, count // healthy)
        fan_out_all()
        with dispatchers(1):
            until = time.time() + 120
            while time.time() < until:
                seen = receivers.ask("count")
                if seen >= count // healthy * healthy:
                    break
                time.sleep(0.05)
        arrived = [(at, path) for at, path in receivers.ask("take") if int(path[1:]) in receivers.healthy]
        found[name] = round(rate(arrived))
        receivers.stop()
        forget()
    found["share"] = round(found["some_hang"] / found["all_well"], 2)
    return found


def measure_shops(count: int) -> dict[str, Any]:
    """Fifty shops, of which one makes nine tenths of the events: how long the others' deliveries take."""
    from apps.ground.tenancy import all_shops_scope
    from apps.webhooks.models import Delivery

    receivers = Receivers(1)
    uri = f"http://127.0.0.1:{receivers.ports[0]}"
    shops = [shop_with(1000 + number, [f"{uri}/{number}"]) for number in range(50)]
    with dispatchers(1):
        warm_up(receivers, shops[0])
        fill_events(shops[0], int(count * 0.9))
        for shop in shops[1:]:
            fill_events(shop, int(count * 0.1 / 49))
        total = int(count * 0.9) + 49 * int(count * 0.1 / 49)
        wait_for(receivers, total)
    time.sleep(0.5)
    with all_shops_scope():
        rows = Delivery.objects.filter(shop__in=shops[1:], state="done")
        others = [
            (first - made).total_seconds()
            for made, first in rows.values_list("triggered_at", "first_attempt_at")
            if first is not None
        ]
    receivers.stop()
    forget()
    return {"others_p99_ms": round(percentile(others, 0.99) * 1000), "others": len(others)}
