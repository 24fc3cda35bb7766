import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.db import connection
from django.utils import timezone

from apps.content.domain.blogs import create_blog
from apps.core.tenancy.models import Installation, Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.webhooks.domain import subscriptions
from apps.webhooks.domain.delivery_tests import send_test_delivery
from apps.webhooks.domain.engine.dispatcher.dispatcher import Dispatcher
from apps.webhooks.models import Attempt, Delivery, Subscription
from tests.support.timing import wait_until

TOPIC = "blogs/create"


def make_subscription(installation: Installation, uri: str, **values: object) -> Subscription:
    expected = {"topic": TOPIC, "uri": uri, "api_version": "2026-07", **values}
    with shop_scope(Shop.objects.get(pk=installation.shop_id)):
        return subscriptions.create_subscription(installation, expected, actor="system", at=timezone.now())


def create_blogs(shop: Shop, count: int = 1, *, title: str = "News") -> None:
    """Create blogs. Each new blog records an event."""
    with shop_scope(Shop.objects.get(pk=shop.pk)):
        for number in range(count):
            create_blog({"title": f"{title} {number}"}, actor="system", at=timezone.now())


@contextmanager
def run_dispatchers(*, count: int = 1) -> Iterator[Dispatcher]:
    """Run dispatchers within the block; yield the first dispatcher."""
    running = [Dispatcher(200) for _ in range(count)]
    threads = [threading.Thread(target=_run, args=(process,), daemon=True) for process in running]
    for thread in threads:
        thread.start()
    wait_until(lambda: all(hasattr(process, "loop") for process in running), bool)
    try:
        yield running[0]
    finally:
        for process in running:
            process.loop.call_soon_threadsafe(process.stop)
        for thread in threads:
            thread.join(30)
        assert not any(thread.is_alive() for thread in threads)


def _run(dispatcher: Dispatcher) -> None:
    try:
        asyncio.run(dispatcher.run())
    finally:
        connection.close()


def wait_until_settled(shop: Shop, *, seconds: float = 15.0) -> dict[str, int]:
    """Wait until no delivery is due or in progress; return the number of deliveries by state."""
    with shop_scope(shop):
        states = Delivery.objects.values_list("state", flat=True)
        return wait_until(lambda: Counter(states.all()), {"due", "leased"}.isdisjoint, seconds=seconds)


URI = "https://apps.example.com/hooks"


def make_delivery(installation: Installation, subscription: Subscription | None = None, **values: Any) -> Delivery:
    reported_subscription = subscription or make_subscription(installation, URI, topic="shop/update")
    with shop_scope(Shop.objects.get(pk=installation.shop_id)):
        delivery = send_test_delivery(reported_subscription, shop_id=installation.shop_id, at=timezone.now())
        Delivery.objects.filter(pk=delivery.pk).update(**values)
        delivery.refresh_from_db()
    return delivery


def make_attempt(delivery: Delivery, **values: object) -> Attempt:
    attempt: Attrs = {"number": 1, "outcome": "ok", "status": 200, "total_ms": 12, **values}
    with shop_scope(Shop.objects.get(pk=delivery.shop_id)):
        return Attempt.objects.create(delivery=delivery, shop_id=delivery.shop_id, **attempt)


def make_due_again(shop: Shop) -> None:
    with shop_scope(shop):
        Delivery.objects.filter(state="retry").update(next_at=timezone.now() - timedelta(seconds=1))
