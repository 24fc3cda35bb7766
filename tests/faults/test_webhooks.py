"""Tests with killed, stopped and disconnected dispatchers. ``WEBHOOK_EVENTS`` sets the events of the long test."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings as project
from django.db import connection
from django.utils import timezone

from apps.core.tenancy.models import Installation, Shop
from apps.core.tenancy.scope import shop_scope
from apps.demo.webhook_receiver import ReceiverBehavior, WebhookReceiver
from apps.webhooks.models import Attempt, Delivery, Pending
from tests.faults.conftest import Sql
from tests.faults.test_network import get_proxied_url, run_database_proxy
from tests.support import factories
from tests.support.databases.proxy import Fault
from tests.support.servers.live import get_database_url
from tests.support.timing import get_time_limit, scale_for_soak, wait_until
from tests.support.webhooks import create_blogs, make_subscription

pytestmark = [pytest.mark.slow, pytest.mark.postgres]

Process = subprocess.Popen[bytes]
Start = Callable[..., Process]


@pytest.fixture
def installation(shop: Shop, allow_loopback: None) -> Installation:
    return factories.make_installation(shop, scopes=["read_content"])


@pytest.fixture
def start_dispatcher(db: None, tmp_path: Path) -> Iterator[Start]:
    running: list[Process] = []

    def make(url: str = "") -> Process:
        environment = {
            **os.environ,
            "DATABASE_URL": url or get_database_url(),
            "BACKOFFICE_DATA_DIR": str(tmp_path),
            "BACKOFFICE_SECRET_KEY": project.SECRET_KEY,
            "BACKOFFICE_OUTGOING_ALLOW": "127.0.0.1",
        }
        running.append(
            subprocess.Popen([sys.executable, "manage.py", "run_webhooks"], cwd=project.BASE_DIR, env=environment)
        )
        return running[-1]

    yield make
    for process in running:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.kill()
        process.wait()


def count_states(shop: Shop) -> Counter[str]:
    with shop_scope(shop):
        return Counter(Delivery.objects.values_list("state", flat=True))


def expire_leases(shop: Shop) -> None:
    with shop_scope(shop):
        Delivery.objects.filter(state="leased").update(lease_until=timezone.now() - timedelta(seconds=1))


def assert_all_arrived(shop: Shop, catcher: WebhookReceiver, *, twice: int) -> None:
    """Check that all deliveries arrived, with at most ``twice`` duplicates, which must be identical."""
    bodies: dict[str, set[bytes]] = {}
    for request in catcher.requests:
        bodies.setdefault(request.get_header("-Webhook-Id"), set()).add(request.body)
    assert all(len(variants) == 1 for variants in bodies.values())
    assert len(catcher.requests) - len(bodies) <= twice
    with shop_scope(shop):
        assert bodies.keys() == {str(key) for key in Delivery.objects.values_list("key", flat=True)}
        assert not Pending.objects.exists()


def test_a_killed_dispatcher_loses_nothing(shop: Shop, installation: Installation, start_dispatcher: Start) -> None:
    """Kill the dispatcher after the endpoint has received the requests but before the results are stored."""
    with WebhookReceiver(behavior=ReceiverBehavior(delay_seconds=1.5)) as catcher:
        make_subscription(installation, catcher.url)
        first_attempt_at = start_dispatcher()
        create_blogs(shop, 10)
        catcher.wait_for(2, seconds=30)
        first_attempt_at.kill()
        first_attempt_at.wait()
        assert count_states(shop)["leased"] >= 2
        catcher.behavior = ReceiverBehavior()
        expire_leases(shop)
        start_dispatcher()
        wait_until(lambda: count_states(shop), lambda counts: counts == {"done": 10}, seconds=40)
        assert_all_arrived(shop, catcher, twice=10)


def test_a_frozen_dispatcher_changes_nothing(shop: Shop, installation: Installation, start_dispatcher: Start) -> None:
    with WebhookReceiver(behavior=ReceiverBehavior(delay_seconds=2)) as catcher:
        make_subscription(installation, catcher.url)
        frozen = start_dispatcher()
        create_blogs(shop, 2)
        catcher.wait_for(2, seconds=30)
        frozen.send_signal(signal.SIGSTOP)
        catcher.behavior = ReceiverBehavior()
        expire_leases(shop)
        start_dispatcher()
        wait_until(lambda: count_states(shop), lambda counts: counts == {"done": 2}, seconds=40)
        with shop_scope(shop):
            rows = Delivery.objects.order_by("pk").values_list("state", "attempts", "finished_at")
            before = list(rows)
            frozen.send_signal(signal.SIGCONT)
            wait_until(Attempt.objects.filter(fenced=True).count, (2).__eq__, seconds=20)
            assert list(rows.all()) == before
        assert_all_arrived(shop, catcher, twice=2)


def test_a_terminated_dispatcher_finishes(shop: Shop, installation: Installation, start_dispatcher: Start) -> None:
    with WebhookReceiver(behavior=ReceiverBehavior(delay_seconds=2)) as catcher:
        make_subscription(installation, catcher.url)
        process = start_dispatcher()
        create_blogs(shop, 20)
        catcher.wait_for(2, seconds=30)
        began = time.monotonic()
        process.terminate()
        assert process.wait(timeout=15) == 0
        assert time.monotonic() - began < get_time_limit(11)
        counts = count_states(shop)

    assert counts["leased"] == 0
    assert counts["done"] >= 2
    assert counts["done"] + counts["due"] == 20 or counts["due"] == 0


def test_a_lost_database_only_delays_deliveries(
    shop: Shop, installation: Installation, start_dispatcher: Start
) -> None:
    with run_database_proxy() as proxy, WebhookReceiver(behavior=ReceiverBehavior(delay_seconds=2)) as catcher:
        make_subscription(installation, catcher.url)
        start_dispatcher(get_proxied_url(proxy, get_database_url()))
        create_blogs(shop, 2)
        catcher.wait_for(2, seconds=30)
        proxy.suffer(Fault.RESET)
        time.sleep(4)
        proxy.suffer(Fault.NONE)
        wait_until(lambda: count_states(shop), lambda counts: counts == {"done": 2}, seconds=40)
        create_blogs(shop, 20)
        catcher.behavior = ReceiverBehavior()
        wait_until(lambda: count_states(shop), lambda counts: counts == {"done": 22}, seconds=40)
        assert_all_arrived(shop, catcher, twice=2)


def test_a_dead_receiver_holds_no_other_up(shop: Shop, installation: Installation, start_dispatcher: Start) -> None:
    with WebhookReceiver(behavior=ReceiverBehavior(delay_seconds=60)) as dead, WebhookReceiver() as well:
        make_subscription(installation, dead.url)
        make_subscription(installation, well.url)
        start_dispatcher()
        create_blogs(shop, 200)
        with shop_scope(shop):
            healthy = Delivery.objects.filter(endpoint__uri=well.url)
            wait_until(healthy.filter(state="done").count, (200).__eq__, seconds=60)
            delays = sorted(row.first_attempt_at - row.created_at for row in healthy if row.first_attempt_at)
            attempts = Attempt.objects.filter(delivery__endpoint__uri=dead.url).count()

    assert delays[int(0.95 * len(delays))] < timedelta(seconds=5)
    # The circuit breaker opens after the first failures, so deliveries use no more attempts.
    assert attempts <= 15


def test_two_dispatchers_share_the_work(shop: Shop, installation: Installation, start_dispatcher: Start) -> None:
    with WebhookReceiver() as catcher:
        make_subscription(installation, catcher.url)
        start_dispatcher()
        start_dispatcher()
        create_blogs(shop, 300)
        wait_until(lambda: count_states(shop), lambda counts: counts == {"done": 300}, seconds=60)
        assert_all_arrived(shop, catcher, twice=0)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_ten_thousand_events_arrive_despite_kills(
    shop: Shop, installation: Installation, start_dispatcher: Start, run_sql_outside: Sql
) -> None:
    total = int(os.environ.get("WEBHOOK_EVENTS") or scale_for_soak(10_000))
    with run_database_proxy() as proxy, WebhookReceiver([installation.app.api_secret]) as catcher:
        url = get_proxied_url(proxy, get_database_url())
        make_subscription(installation, catcher.url)
        running = [start_dispatcher(url), start_dispatcher(url)]
        rounds = 20
        for number in range(rounds):
            create_blogs(shop, total // rounds, title=f"Round {number}")
            if number % 4 == 1:
                running[0].kill()
                running[0].wait()
                expire_leases(shop)
                running = [running[1], start_dispatcher(url)]
            if number % 4 == 2:
                run_sql_outside(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
                    " AND pid <> pg_backend_pid() AND client_port IN (SELECT client_port FROM pg_stat_activity"
                    " WHERE query LIKE '%webhooks_%' OR query LIKE 'LISTEN%')"
                )
                connection.close()
            if number % 4 == 3:
                proxy.suffer(Fault.RESET)
                time.sleep(1)
                proxy.suffer(Fault.NONE)
        deadline = time.monotonic() + 600
        while (counts := count_states(shop)) != {"done": total} and time.monotonic() < deadline:
            expire_leases(shop) if counts["leased"] > 100 else None
            time.sleep(2)
        assert count_states(shop) == {"done": total}
        assert all(all(request.verified.values()) for request in catcher.requests)
        assert_all_arrived(shop, catcher, twice=200 * rounds)
