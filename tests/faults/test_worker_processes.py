"""Lost workers and brokers in ``/readyz``, with real processes."""

import json
import signal
from datetime import timedelta
from urllib.request import urlopen

import pytest
from django.conf import settings
from django.db.models.functions import Now

from apps.core.jobs.models import WorkerProcess
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from tests.support.servers.live import LiveServer, stop_process
from tests.support.servers.timed_client import TAG, ServerClient, Start
from tests.support.timing import wait_until

pytestmark = pytest.mark.slow

NO_QUEUE_LACKS = {"alive": 1, "lost": 0, "queues_without_worker": []}


def get_readiness(server: LiveServer) -> Attrs:
    """Return the response of ``/readyz``, which also fails the test if the status is not 200."""
    with urlopen(f"{server.url}/readyz", timeout=30) as response:
        report: Attrs = json.load(response)
        return report


def wait_for_workers(server: LiveServer, expected: Attrs) -> Attrs:
    return wait_until(lambda: get_readiness(server), lambda report: report["workers"] == expected, seconds=60)


def test_a_killed_worker_is_lost_and_a_stopped_one_is_not(start_server: Start) -> None:
    server = start_server()
    assert get_readiness(server)["parts"]["workers"] is False
    killed = server.start("backoffice.entrypoints.worker")
    scheduler = server.start("backoffice.entrypoints.scheduler")
    wait_for_workers(server, NO_QUEUE_LACKS)
    wait_until(lambda: get_readiness(server)["status"], "ok".__eq__, seconds=60)
    started_at = WorkerProcess.objects.get(role="worker").started_at

    killed.send_signal(signal.SIGKILL)
    killed.wait(30)
    # The row of a killed process stays as it is. Skip the minute until it counts as lost.
    WorkerProcess.objects.filter(role="worker").update(seen_at=Now() - timedelta(seconds=61))
    lost = wait_for_workers(server, {"alive": 0, "lost": 1, "queues_without_worker": list(settings.TASK_QUEUES)})
    assert (lost["status"], lost["parts"]["workers"], lost["parts"]["scheduler"]) == ("degraded", False, True)

    returned = server.start("backoffice.entrypoints.worker")
    wait_for_workers(server, NO_QUEUE_LACKS)
    assert WorkerProcess.objects.get(role="worker").started_at > started_at

    stop_process(returned)
    stop_process(scheduler)
    assert not WorkerProcess.objects.exists()


def test_a_worker_of_one_queue_leaves_the_others_without_worker(start_server: Start) -> None:
    server = start_server()
    process = server.start(
        "celery", "-A", "backoffice.celery", "worker", "-Q", "bulk", "-n", "bulk@%h", "-B", "--concurrency", "1"
    )

    report = wait_for_workers(
        server,
        {"alive": 1, "lost": 0, "queues_without_worker": [name for name in settings.TASK_QUEUES if name != "bulk"]},
    )
    wait_until(lambda: get_readiness(server)["parts"]["scheduler"], bool, seconds=60)

    assert report["status"] == "degraded"
    stop_process(process)
    assert not WorkerProcess.objects.exists()


def test_writes_succeed_without_a_broker_so_the_process_stays_ready(start_server: Start, shop: Shop) -> None:
    server = start_server(BROKER_URL="redis://127.0.0.1:1/0")
    call = ServerClient(server, shop)

    statuses = [call("script_tags.json", TAG).status for _ in range(3)]
    report = get_readiness(server)

    assert statuses == [201] * 3
    assert (report["status"], report["parts"]["broker"]) == ("degraded", False)
