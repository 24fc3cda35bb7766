"""Tests with killed, stopped and disconnected workers. ``WEBHOOK_EVENTS`` sets the events of the long test."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest
from celery import Celery
from django.conf import settings as project
from django.db import connection
from django.utils import timezone

from apps.core.jobs import publishing
from apps.core.tenancy.models import Installation, Shop
from apps.core.tenancy.scope import shop_scope
from apps.demo.webhook_receiver import ReceiverBehavior, WebhookReceiver
from apps.webhooks.models import Attempt, Delivery, DeliveryRun, Pending
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
BROKER_FOLDERS = {
    "data_folder_in": "queue",
    "data_folder_out": "queue",
    "processed_folder": "processed",
    "control_folder": "control",
}


@pytest.fixture
def installation(shop: Shop, allow_loopback: None) -> Installation:
    return factories.make_installation(shop, scopes=["read_content"])


@pytest.fixture
def start_worker(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start workers that only deliver webhooks. This process sends messages to the same broker."""
    running: list[Process] = []
    folders = {name: str(tmp_path / "broker" / folder) for name, folder in BROKER_FOLDERS.items()}
    for folder in folders.values():
        Path(folder).mkdir(parents=True, exist_ok=True)
    broker = Celery(broker="filesystem://localhost", broker_transport_options=folders)
    monkeypatch.setattr(publishing, "send_task", partial(broker.send_task, ignore_result=True))

    def make(url: str = "") -> Process:
        environment = {
            **os.environ,
            "DATABASE_URL": url or get_database_url(),
            "BACKOFFICE_DATA_DIR": str(tmp_path),
            "BROKER_URL": "filesystem://",
            "BACKOFFICE_SECRET_KEY": project.SECRET_KEY,
            "BACKOFFICE_OUTGOING_ALLOW": "127.0.0.1",
            "BACKOFFICE_WEBHOOK_RUNS": "2",
        }
        command = [sys.executable, "-m", "backoffice.entrypoints.worker", "-B", "-Q", "webhooks", "--concurrency", "1"]
        command += ["-n", f"{len(running)}@%h", "-s", str(tmp_path / f"schedule-{len(running)}")]
        running.append(subprocess.Popen(command, cwd=project.BASE_DIR, env=environment, start_new_session=True))
        return running[-1]

    yield make
    for process in running:
        signal_worker(process, signal.SIGCONT)
        signal_worker(process, signal.SIGKILL)


def signal_worker(worker: Process, number: signal.Signals) -> None:
    """Send a signal to all processes of a worker."""
    with suppress(ProcessLookupError):
        os.killpg(worker.pid, number)
    if number is signal.SIGKILL:
        worker.wait()


def get_delivering_process(worker: Process) -> int:
    """Return the PID of the worker's process that delivers webhooks, which has the most threads."""
    children = Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split()
    return max(map(int, children), key=lambda pid: len([*Path(f"/proc/{pid}/task").iterdir()]))


def count_states(shop: Shop) -> Counter[str]:
    with shop_scope(shop):
        return Counter(Delivery.objects.values_list("state", flat=True))


def expire_leases(shop: Shop) -> None:
    past = timezone.now() - timedelta(seconds=1)
    with shop_scope(shop):
        Delivery.objects.filter(state="leased").update(lease_until=past)
    DeliveryRun.objects.exclude(lease_until=None).update(lease_until=past)


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


def test_a_killed_worker_loses_nothing(shop: Shop, installation: Installation, start_worker: Start) -> None:
    """Kill the worker after the endpoint has received the requests but before the results are stored."""
    with WebhookReceiver(behavior=ReceiverBehavior(delay_seconds=1.5)) as catcher:
        make_subscription(installation, catcher.url)
        killed = start_worker()
        create_blogs(shop, 10)
        catcher.wait_for(2, seconds=90)
        signal_worker(killed, signal.SIGKILL)
        assert count_states(shop)["leased"] >= 2
        catcher.behavior = ReceiverBehavior()
        expire_leases(shop)
        start_worker()
        wait_until(lambda: count_states(shop), lambda counts: counts == {"done": 10}, seconds=40)
        assert_all_arrived(shop, catcher, twice=10)


def test_a_killed_process_is_replaced(shop: Shop, installation: Installation, start_worker: Start) -> None:
    """Kill the process that delivers. The scheduler starts a run in the process that replaces it."""
    with WebhookReceiver(behavior=ReceiverBehavior(delay_seconds=1.5)) as catcher:
        make_subscription(installation, catcher.url)
        worker = start_worker()
        create_blogs(shop, 10)
        catcher.wait_for(2, seconds=90)
        os.kill(get_delivering_process(worker), signal.SIGKILL)
        catcher.behavior = ReceiverBehavior()
        expire_leases(shop)
        wait_until(lambda: count_states(shop), lambda counts: counts == {"done": 10}, seconds=60)
        assert_all_arrived(shop, catcher, twice=10)


def test_a_broker_that_is_down_only_delays_deliveries(
    shop: Shop, installation: Installation, start_worker: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    with WebhookReceiver() as catcher:
        make_subscription(installation, catcher.url)
        start_worker()
        with monkeypatch.context() as patched:
            patched.setattr(publishing, "send_task", Mock(side_effect=ConnectionError("no broker")))
            create_blogs(shop, 5)
        wait_until(lambda: count_states(shop), lambda counts: counts == {"done": 5}, seconds=60)
        assert_all_arrived(shop, catcher, twice=0)


def test_a_frozen_worker_changes_nothing(shop: Shop, installation: Installation, start_worker: Start) -> None:
    with WebhookReceiver(behavior=ReceiverBehavior(delay_seconds=2)) as catcher:
        make_subscription(installation, catcher.url)
        frozen = start_worker()
        create_blogs(shop, 2)
        catcher.wait_for(2, seconds=90)
        signal_worker(frozen, signal.SIGSTOP)
        catcher.behavior = ReceiverBehavior()
        expire_leases(shop)
        start_worker()
        wait_until(lambda: count_states(shop), lambda counts: counts == {"done": 2}, seconds=40)
        with shop_scope(shop):
            rows = Delivery.objects.order_by("pk").values_list("state", "attempts", "finished_at")
            before = list(rows)
            signal_worker(frozen, signal.SIGCONT)
            wait_until(Attempt.objects.filter(fenced=True).count, (2).__eq__, seconds=20)
            assert list(rows.all()) == before
        assert_all_arrived(shop, catcher, twice=2)


def test_a_terminated_worker_finishes(shop: Shop, installation: Installation, start_worker: Start) -> None:
    with WebhookReceiver(behavior=ReceiverBehavior(delay_seconds=2)) as catcher:
        make_subscription(installation, catcher.url)
        process = start_worker()
        create_blogs(shop, 20)
        catcher.wait_for(2, seconds=90)
        began = time.monotonic()
        process.terminate()
        assert process.wait(timeout=get_time_limit(30)) == 0
        assert time.monotonic() - began < get_time_limit(11)
        counts = count_states(shop)

    assert counts["leased"] == 0
    assert counts["done"] >= 2
    assert counts["done"] + counts["due"] == 20 or counts["due"] == 0


def test_a_lost_database_only_delays_deliveries(shop: Shop, installation: Installation, start_worker: Start) -> None:
    with run_database_proxy() as proxy, WebhookReceiver(behavior=ReceiverBehavior(delay_seconds=2)) as catcher:
        make_subscription(installation, catcher.url)
        start_worker(get_proxied_url(proxy, get_database_url()))
        create_blogs(shop, 2)
        catcher.wait_for(2, seconds=90)
        proxy.suffer(Fault.RESET)
        time.sleep(4)
        proxy.suffer(Fault.NONE)
        wait_until(lambda: count_states(shop), lambda counts: counts == {"done": 2}, seconds=40)
        create_blogs(shop, 20)
        catcher.behavior = ReceiverBehavior()
        wait_until(lambda: count_states(shop), lambda counts: counts == {"done": 22}, seconds=40)
        assert_all_arrived(shop, catcher, twice=2)


def test_a_dead_receiver_holds_no_other_up(shop: Shop, installation: Installation, start_worker: Start) -> None:
    with WebhookReceiver(behavior=ReceiverBehavior(delay_seconds=60)) as dead, WebhookReceiver() as well:
        make_subscription(installation, dead.url)
        make_subscription(installation, well.url)
        start_worker()
        create_blogs(shop, 200)
        with shop_scope(shop):
            healthy = Delivery.objects.filter(endpoint__uri=well.url)
            wait_until(healthy.filter(state="done").count, (200).__eq__, seconds=60)
            delays = sorted(row.first_attempt_at - row.created_at for row in healthy if row.first_attempt_at)
            attempts = Attempt.objects.filter(delivery__endpoint__uri=dead.url).count()

    assert delays[int(0.95 * len(delays))] < timedelta(seconds=get_time_limit(5))
    # The circuit breaker opens after the first failures, so deliveries use no more attempts.
    assert attempts <= 15


def test_two_workers_share_the_work(shop: Shop, installation: Installation, start_worker: Start) -> None:
    with WebhookReceiver() as catcher:
        make_subscription(installation, catcher.url)
        start_worker()
        start_worker()
        create_blogs(shop, 300)
        wait_until(lambda: count_states(shop), lambda counts: counts == {"done": 300}, seconds=60)
        assert_all_arrived(shop, catcher, twice=0)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_ten_thousand_events_arrive_despite_kills(
    shop: Shop, installation: Installation, start_worker: Start, run_sql_outside: Sql
) -> None:
    total = int(os.environ.get("WEBHOOK_EVENTS") or scale_for_soak(10_000))
    with run_database_proxy() as proxy, WebhookReceiver([installation.app.api_secret]) as catcher:
        url = get_proxied_url(proxy, get_database_url())
        make_subscription(installation, catcher.url)
        running = [start_worker(url), start_worker(url)]
        rounds = 20
        for number in range(rounds):
            create_blogs(shop, total // rounds, title=f"Round {number}")
            if number % 4 == 1:
                signal_worker(running[0], signal.SIGKILL)
                expire_leases(shop)
                running = [running[1], start_worker(url)]
            if number % 4 == 2:
                run_sql_outside(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
                    " AND pid <> pg_backend_pid() AND client_port IN (SELECT client_port FROM pg_stat_activity"
                    " WHERE query LIKE '%webhooks_%')"
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
