"""Test webhooks with five subscribers: each subscriber receives each write exactly once, without long delays.

See check L3 in docs/reliability.md. ``SOAK_SECONDS`` and ``SOAK_WRITES`` (per second) override its numbers.
"""

import os
import random
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from pytest_django import Settings

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.demo.webhook_receiver import WebhookReceiver
from apps.webhooks.models import Delivery, Pending
from tests.support import factories
from tests.support.servers.concurrent_clients import ApiRequest, send_at_rate
from tests.support.servers.live import LiveServer, get_database_url, run_server
from tests.support.timing import SOAK_MARKS, scale_for_soak, wait_until
from tests.support.webhooks import make_subscription

pytestmark = SOAK_MARKS

RECEIVERS = 5
# Maximum seconds from the last write to the last delivery.
DELIVERY_SECONDS = 60


@pytest.fixture
def server(transactional_db: None, tmp_path: Path) -> Iterator[LiveServer]:
    with run_server(get_database_url(), tmp_path, "worker", WEB_PROCESSES="2") as running:
        yield running


def build_write(_: int, chance: random.Random) -> ApiRequest:
    return ApiRequest("POST", "customers.json", {"customer": {"email": f"soak-{chance.getrandbits(60):x}@example.com"}})


def count_pending(shop: Shop) -> int:
    with shop_scope(shop):
        return Pending.objects.count() + Delivery.objects.exclude(state=Delivery.State.DONE).count()


def test_writes_reach_five_receivers(
    shop: Shop, server: LiveServer, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.OUTGOING_ALLOW = ["127.0.0.1"]
    seconds = float(os.environ.get("SOAK_SECONDS") or scale_for_soak(600))
    rate = float(os.environ.get("SOAK_WRITES", "20"))
    writer = factories.make_token(factories.make_installation(shop, ("write_customers",)))
    with ExitStack() as stack:
        catchers = []
        for _ in range(RECEIVERS):
            listener = factories.make_installation(shop, ("read_customers",))
            catchers.append(stack.enter_context(WebhookReceiver([listener.app.api_secret])))
            make_subscription(listener, catchers[-1].url, topic="customers/create")

        fates = send_at_rate(
            server.port, [writer], build_write, rate=rate, seconds=seconds, callers=max(4, int(rate / 2))
        )
        ended = time.monotonic()
        wait_until(lambda: count_pending(shop), lambda count: count == 0, seconds=DELIVERY_SECONDS)

        drained = time.monotonic() - ended
        with capsys.disabled():
            print(  # noqa: T201
                f"\n{fates.count()} writes in {seconds:.0f} seconds {dict(fates.statuses)}, "
                f"p95 {fates.percentile(95):.0f} ms; "
                f"{RECEIVERS} receivers have heard of all of them {drained:.1f} seconds after the last"
            )
    assert fates.broken == []
    assert set(fates.statuses) == {201}
    for catcher in catchers:
        ids = [request.get_header("-Webhook-Id") for request in catcher.requests]
        assert len(ids) == len(set(ids)) == fates.statuses[201]
        assert all(all(request.verified.values()) for request in catcher.requests)
