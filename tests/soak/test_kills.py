"""Kill web processes and workers under load every few seconds: no acknowledged write is lost.

See check F15 in docs/reliability.md. ``SOAK_SECONDS`` and ``SOAK_WRITES`` (per second) override its numbers.
"""

import http.client
import json
import os
import random
import signal
import subprocess
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest
from pytest_django import Settings

from apps.core.events.models import Event
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.demo.webhook_receiver import WebhookReceiver
from apps.orders.models import Order
from apps.webhooks.models import Delivery, Pending
from tests.support import factories
from tests.support.servers.concurrent_clients import PREFIX, ClientThreads
from tests.support.servers.live import LiveServer, get_database_url, run_server
from tests.support.timing import SOAK_MARKS, scale_for_soak, wait_until
from tests.support.webhooks import make_subscription

pytestmark = SOAK_MARKS

TOPIC = "orders/create"
EVERY_SECONDS = 5.0
WRITERS = 4
# Killed jobs wait until their lease expires after 30 seconds and a sweep finds them.
COMPLETION_SECONDS = 120


def get_child_processes(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


class KillableProcesses:
    """Two web processes, which the supervisor restarts, and two workers, which the test restarts."""

    def __init__(self, server: LiveServer) -> None:
        self.server = server
        self.workers = [self._worker(), self._worker()]
        self.killed: Counter[str] = Counter()

    def _worker(self) -> subprocess.Popen[bytes]:
        return self.server.start("backoffice.entrypoints.worker")

    def kill_web(self) -> None:
        if process_ids := get_child_processes(self.server.process.pid):
            os.kill(random.choice(process_ids), signal.SIGKILL)
            self.killed["web"] += 1

    def kill_worker(self) -> None:
        """Kill the older worker with all child processes, and start a new worker."""
        worker = self.workers.pop(0)
        for pid in (worker.pid, *get_child_processes(worker.pid)):
            os.kill(pid, signal.SIGKILL)
        worker.wait(30)
        self.workers.append(self._worker())
        self.killed["worker"] += 1


@pytest.fixture
def killable_processes(transactional_db: None, tmp_path: Path) -> Iterator[KillableProcesses]:
    with run_server(get_database_url(), tmp_path, "scheduler", WEB_PROCESSES="2", WORKERS="1") as server:
        yield KillableProcesses(server)


class OrderWriters(ClientThreads):
    """Clients that create orders. Each request is repeated with the same idempotency key until it succeeds."""

    def __init__(self, port: int, token: str, rate: float) -> None:
        super().__init__(WRITERS)
        self.acknowledged: list[str] = []
        self.statuses: Counter[int] = Counter()
        self._port, self._token, self._pause = port, token, WRITERS / rate

    def send_requests(self, index: int) -> None:
        while not self.has_ended.wait(self._pause):
            key = str(uuid.uuid4())
            while (status := self._post(key)) != 201:
                time.sleep(0.2)
                assert status in {0, 409, 503}, status
            self.acknowledged.append(key)

    def _post(self, key: str) -> int:
        """Create an order and return the response's status, or 0 for a broken connection."""
        body = {"order": {"line_items": [{"title": "Mug", "price": "10.00", "quantity": 2}], "note": key}}
        headers = {"X-Platform-Access-Token": self._token, "Content-Type": "application/json", "Idempotency-Key": key}
        line = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            line.request("POST", f"{PREFIX}orders.json", json.dumps(body), headers)
            response = line.getresponse()
            response.read()
            status = response.status
        except (OSError, http.client.HTTPException):
            status = 0
        finally:
            line.close()
        self.statuses[status] += 1
        return status


def count_pending(shop: Shop) -> int:
    with shop_scope(shop):
        job_count = Job.objects.filter(state__in=(Job.State.WAITING, Job.State.RUNNING)).count()
        return job_count + Pending.objects.count() + Delivery.objects.exclude(state=Delivery.State.DONE).count()


def test_killed_processes_lose_no_write_and_no_event(
    shop: Shop, killable_processes: KillableProcesses, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.OUTGOING_ALLOW = ["127.0.0.1"]
    seconds = float(os.environ.get("SOAK_SECONDS") or scale_for_soak(120))
    token = factories.make_token(factories.make_installation(shop, ("write_orders",)))
    listener = factories.make_installation(shop, ("read_orders",))
    writers = OrderWriters(killable_processes.server.port, token, float(os.environ.get("SOAK_WRITES", "10")))
    with WebhookReceiver([listener.app.api_secret]) as catcher:
        make_subscription(listener, catcher.url, topic=TOPIC)
        with writers:
            until_then = time.monotonic() + seconds
            for kill in cycle((killable_processes.kill_web, killable_processes.kill_worker)):
                time.sleep(EVERY_SECONDS)
                if time.monotonic() > until_then:
                    break
                kill()
        ended = time.monotonic()
        wait_until(lambda: count_pending(shop), lambda count: count == 0, seconds=COMPLETION_SECONDS)
        drained = time.monotonic() - ended

    with shop_scope(shop):
        notes = Counter(Order.objects.values_list("note", flat=True))
        events = Event.objects.filter(topic=TOPIC).count()
        failed = Job.objects.filter(state=Job.State.FAILED).count()
    delivered_ids = {request.get_header("-Webhook-Id") for request in catcher.requests}
    with capsys.disabled():
        print(  # noqa: T201
            f"\n{seconds:.0f} seconds, killed {dict(killable_processes.killed)}: {len(writers.acknowledged)} orders "
            f"acknowledged, statuses {dict(writers.statuses)} (0: broken), {len(notes)} stored, {events} events, "
            f"{len(delivered_ids)} told; all done {drained:.1f} seconds after the last"
        )
    assert set(writers.statuses) <= {0, 201, 409, 503}
    assert set(writers.acknowledged) == set(notes)
    assert set(notes.values()) == {1}
    assert events == len(delivered_ids) == len(notes)
    assert failed == 0
