"""Three concurrent writers, and an app that copies the store by webhooks alone: in the end, nothing is stale.

All processes of an installation run, and the workers are killed now and then. ``SOAK_SECONDS`` overrides the duration.
``tests/webhooks/test_copies.py`` is the short form.
"""

import http.client
import json
import os
import signal
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from apps.catalog.models import DelayedUpdate
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.demo.webhook_receiver import WebhookReceiver
from apps.inventory.models import Location
from apps.webhooks.models import Delivery, Pending
from tests.support import factories
from tests.support.copying_app import CopyingApp, find_differences, read_store, subscribe
from tests.support.factories.inventory import make_location
from tests.support.servers.concurrent_clients import PREFIX
from tests.support.servers.live import get_database_url, run_server
from tests.support.store_writers import RandomWriter
from tests.support.timing import SOAK_MARKS, scale_for_soak, wait_until

pytestmark = SOAK_MARKS

WRITERS = 3
KILL_EVERY_SECONDS = 30.0
SETTLING_SECONDS = 180


class HttpSender:
    """Sends API requests over one connection, and again if a killed or busy process has not answered."""

    def __init__(self, port: int, token: str) -> None:
        self.statuses: Counter[int] = Counter()
        self._port, self._token = port, token

    def __call__(self, method: str, path: str, body: object) -> tuple[int, Any]:
        while True:
            line = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
            headers = {"X-Platform-Access-Token": self._token, "Content-Type": "application/json"}
            line.request(method, PREFIX + path, None if body is None else json.dumps(body), headers)
            response = line.getresponse()
            content = response.read()
            line.close()
            self.statuses[response.status] += 1
            if response.status != 503:
                return response.status, json.loads(content)
            time.sleep(0.2)


def count_work(shop: Shop) -> int:
    with shop_scope(shop):
        # There is no mail server, so invitations are tried again for hours.
        unfinished = Job.objects.filter(state__in=(Job.State.WAITING, Job.State.RUNNING))
        jobs = unfinished.exclude(task="customers.send_invitation").count()
        deliveries = Delivery.objects.exclude(state=Delivery.State.DONE).count()
        return jobs + deliveries + Pending.objects.count() + DelayedUpdate.objects.filter(is_waiting=True).count()


def kill_with_children(process: "subprocess.Popen[bytes]") -> None:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    for pid in (process.pid, *map(int, children)):
        os.kill(pid, signal.SIGKILL)
    process.wait(30)


def test_a_copy_by_webhooks_alone_ends_with_what_the_store_has(
    shop: Shop, tmp_path: Path, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.OUTGOING_ALLOW = ["127.0.0.1"]
    seconds = float(os.environ.get("SOAK_SECONDS") or scale_for_soak(900))
    installation = factories.make_installation(shop)
    token = factories.make_token(installation)
    with shop_scope(shop):
        make_location(shop, name="Depot")
        locations = list(Location.objects.order_by("pk").values_list("pk", flat=True))
    with (
        run_server(get_database_url(), tmp_path, "scheduler", WEB_PROCESSES="2", WORKERS="1") as server,
        WebhookReceiver([installation.app.api_secret]) as catcher,
    ):
        worker = server.start("backoffice.entrypoints.worker")
        subscribe(installation, catcher.url)
        reader = HttpSender(server.port, token)
        before = read_store(lambda path: reader("GET", path, None)[1])
        senders = [HttpSender(server.port, token) for _ in range(WRITERS)]
        writers = [RandomWriter(sender, seed, locations) for seed, sender in enumerate(senders)]
        ends_at = time.monotonic() + seconds

        def write_until_the_end(writer: RandomWriter) -> None:
            while time.monotonic() < ends_at:
                writer.write()

        threads = [threading.Thread(target=write_until_the_end, args=(writer,), daemon=True) for writer in writers]
        for thread in threads:
            thread.start()
        while (remaining := ends_at - time.monotonic()) > KILL_EVERY_SECONDS:
            time.sleep(min(KILL_EVERY_SECONDS, remaining))
            kill_with_children(worker)
            worker = server.start("backoffice.entrypoints.worker")
        for thread in threads:
            thread.join(seconds + 120)
        wait_until(lambda: count_work(shop), lambda count: count == 0, seconds=SETTLING_SECONDS)
        store = read_store(lambda path: reader("GET", path, None)[1])

    app = CopyingApp()
    for request in catcher.requests:
        sequence = int(request.get_header("-Sequence"))
        app.receive(request.get_header("-Topic"), sequence, json.loads(request.body))
    differences = find_differences(app.get_copy(), store, before)
    statuses = sum((sender.statuses for sender in senders), Counter[int]())
    with capsys.disabled():
        print(  # noqa: T201
            f"\n{seconds:.0f} seconds, {statuses.total()} requests {dict(statuses)}, "
            f"{len(catcher.requests)} deliveries, in the store "
            f"{dict(Counter(resource for resource, _ in store))}: {len(differences)} stale"
        )
    assert set(statuses) <= {200, 201, 404, 409, 422, 503}
    assert differences == []
    assert len(store) > WRITERS
