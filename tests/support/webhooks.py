import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.test import override_settings
from django.utils import timezone

from apps.content.domain.blogs import create_blog
from apps.core.tenancy.models import Installation, Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.webhooks.domain import subscriptions
from apps.webhooks.domain.delivery_tests import send_test_delivery
from apps.webhooks.domain.engine.dispatcher.runner import Runner
from apps.webhooks.models import Attempt, Delivery, Subscription
from tests.support.timing import wait_until

TOPIC = "blogs/create"


def make_subscription(installation: Installation, uri: str, **values: object) -> Subscription:
    expected = {"topic": TOPIC, "uri": uri, "api_version": "2026-10", **values}
    with shop_scope(Shop.objects.get(pk=installation.shop_id)):
        return subscriptions.create_subscription(installation, expected, actor="system", at=timezone.now())


def create_blogs(shop: Shop, count: int = 1, *, title: str = "News") -> None:
    """Create blogs. Each new blog records an event."""
    with shop_scope(Shop.objects.get(pk=shop.pk)):
        for number in range(count):
            create_blog({"title": f"{title} {number}"}, actor="system", at=timezone.now())


@contextmanager
def run_dispatchers(*, count: int = 1) -> Iterator[None]:
    """Within the block, deliver webhooks as soon as they are due, in one or more concurrent runs."""
    has_ended = threading.Event()
    threads = [threading.Thread(target=_deliver_until, args=(has_ended,), daemon=True) for _ in range(count)]
    with override_settings(WEBHOOK_RUNS=count):
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            has_ended.set()
            for thread in threads:
                thread.join(30)
            assert not any(thread.is_alive() for thread in threads)


def _deliver_until(has_ended: threading.Event) -> None:
    runner = Runner()
    try:
        while not has_ended.wait(0.02):
            runner.run(time.monotonic() + 60, has_ended.is_set)
    finally:
        runner.close()


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
