"""Test a broker outage of one minute: writes remain fast, and the jobs run after the outage.

See check F2 in docs/reliability.md. ``SOAK_SECONDS`` and ``SOAK_WRITES`` (per second) override its numbers.
"""

import http.client
import json
import os
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.orders.models import Order
from tests.support import factories
from tests.support.servers.concurrent_clients import PREFIX, ClientThreads
from tests.support.servers.live import LiveServer, get_database_url, run_server
from tests.support.servers.ports import find_free_port
from tests.support.timing import SOAK_MARKS, scale_for_soak, wait_until

pytestmark = SOAK_MARKS

RATE = float(os.environ.get("SOAK_WRITES", "50"))
SECONDS = float(os.environ.get("SOAK_SECONDS") or scale_for_soak(60))
WRITERS = 16
P95_SECONDS = 1.0


class StoppableRedis:
    def __init__(self) -> None:
        self.port = find_free_port()
        self.start()

    def start(self) -> None:
        options = ("--port", str(self.port), "--save", "", "--appendonly", "no")
        self._process = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(30)


@pytest.fixture
def broker() -> Iterator[StoppableRedis]:
    broker = StoppableRedis()
    yield broker
    broker.kill()


class OrderClients(ClientThreads):
    """Clients that create orders at a fixed total rate. Each order creates one job, which sends the receipt."""

    def __init__(self, server: LiveServer, token: str) -> None:
        super().__init__(WRITERS)
        self.seconds: list[float] = []
        self.statuses: list[int] = []
        self._port, self._token = server.port, token

    def send_requests(self, index: int) -> None:
        line = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        lines = [{"title": "Mug", "price": "10.00", "quantity": 1}]
        body = json.dumps({"order": {"email": "a@b.example", "send_receipt": True, "line_items": lines}})
        headers = {"X-Platform-Access-Token": self._token, "Content-Type": "application/json"}
        next_at = time.monotonic() + index / RATE
        while not self.has_ended.wait(max(0.0, next_at - time.monotonic())):
            began = time.monotonic()
            line.request("POST", f"{PREFIX}orders.json", body, headers)
            response = line.getresponse()
            response.read()
            self.seconds.append(time.monotonic() - began)
            self.statuses.append(response.status)
            next_at = max(next_at + WRITERS / RATE, began)
        line.close()


def test_writes_go_on_while_the_broker_is_away(
    transactional_db: None, shop: Shop, broker: StoppableRedis, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token = factories.make_token(factories.make_installation(shop))
    environment = {"BROKER_URL": f"redis://127.0.0.1:{broker.port}/0", "EMAIL_URL": "dummymail://"}
    with (
        run_server(get_database_url(), tmp_path, "worker", "scheduler", WEB_PROCESSES="2", **environment) as server,
        shop_scope(shop),
    ):
        with OrderClients(server, token) as sellers:
            wait_until(lambda: len(sellers.statuses), (2 * RATE).__le__, seconds=60)
            broker.kill()
            first = len(sellers.seconds)
            time.sleep(SECONDS)
            last = len(sellers.seconds)
            broker.start()
            time.sleep(5)
        receipts = Job.objects.filter(task="orders.send_receipt")
        wait_until(lambda: receipts.exclude(state=Job.State.DONE).count(), (0).__eq__, seconds=180)
        stored = Order.objects.count(), receipts.count()

    away = sellers.seconds[first:last]
    hundredths = statistics.quantiles(away, n=100)
    with capsys.disabled():
        print(  # noqa: T201
            f"\n{len(away):,} writes in {SECONDS:.0f} s without a broker, p50 {hundredths[49] * 1000:.0f} ms,"
            f" p95 {hundredths[94] * 1000:.0f} ms, p99 {hundredths[98] * 1000:.0f} ms"
        )
    assert set(sellers.statuses) == {201}
    assert hundredths[94] < P95_SECONDS
    assert stored == (len(sellers.statuses), len(sellers.statuses))
