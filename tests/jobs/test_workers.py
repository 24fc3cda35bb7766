"""See check F1 in docs/reliability.md. A ``kill -9`` between the commit and the task loses no job."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from backoffice.celery import app as celery
from tests.support import factories, services
from tests.support.servers.live import get_database_url

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("workers"), pytest.mark.django_db(transaction=True)]

Start = Callable[..., subprocess.Popen[bytes]]
# Seconds within which another worker finishes an interrupted job.
PROMISE = 60
# Seconds that a worker may need to start on a busy machine. Brokers take longer to detect a killed worker's connection.
STARTING = 90


@dataclass(frozen=True)
class Intervals:
    """The lease duration and the sweep interval, in seconds."""

    lease: int = settings.JOB_LEASE_SECONDS
    sweep: int = settings.JOB_SWEEP_SECONDS

    @property
    def promise(self) -> int:
        """Return the time limit: one minute, minus the time saved by intervals that are shorter than the product's."""
        return PROMISE - (settings.JOB_LEASE_SECONDS - self.lease) - (settings.JOB_SWEEP_SECONDS - self.sweep)


@pytest.fixture
def intervals(broker_url: str) -> Intervals:
    """Return the product's intervals for the default broker, and shorter ones for other brokers to save time."""
    return Intervals() if broker_url == "filesystem://" else Intervals(lease=6, sweep=2)


# CI's second run, on PostgreSQL, uses Redis. The other brokers are tested in the first run.
REDIS = pytest.param("redis", marks=pytest.mark.postgres)


@pytest.fixture(params=["filesystem", REDIS, "rabbitmq"])
def broker_url(request: pytest.FixtureRequest) -> str:
    """Return a broker URL. Tests with this fixture run once per supported broker."""
    if request.param == "filesystem":
        return "filesystem://"
    if request.param == "redis":
        return services.require_service("Redis", services.get_redis_url())
    return services.require_service("RabbitMQ", services.get_rabbitmq_url())


@pytest.fixture
def start_process(tmp_path: Path, broker_url: str, intervals: Intervals) -> Iterator[Start]:
    """Return a function that starts Celery processes on the test database; kill the processes afterwards."""
    running: list[subprocess.Popen[bytes]] = []

    def make(*arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "celery", "-A", "tests.support.servers.celery_app", *arguments]
        process = subprocess.Popen(
            [*command, "--loglevel", "WARNING"],
            cwd=settings.BASE_DIR,
            env={
                **os.environ,
                "DATABASE_URL": get_database_url(),
                "BROKER_URL": broker_url,
                "BACKOFFICE_DATA_DIR": str(tmp_path),
                "BACKOFFICE_SECRET_KEY": settings.SECRET_KEY,
                "TEST_MARKS": str(tmp_path / "marks"),
                "TEST_LEASE_SECONDS": str(intervals.lease),
                "TEST_SWEEP_SECONDS": str(intervals.sweep),
                "C_FORCE_ROOT": "1",
            },
            start_new_session=True,
        )
        running.append(process)
        return process

    yield make
    for process in running:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=30)


def start_worker(start: Start, *, name: str = "celery") -> subprocess.Popen[bytes]:
    options = ("--concurrency", "1", "--without-gossip", "--without-mingle", "--pool", "prefork")
    return start("worker", "--hostname", f"{name}@%h", *options)


def wait_for(condition: Callable[[], bool], seconds: float) -> None:
    """Wait until the condition is true. The time limit does not depend on the machine's load."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.2)


def make_job(shop: Shop, monkeypatch: pytest.MonkeyPatch, mode: str) -> Job:
    """Create a job without sending it, as if the broker were down."""
    monkeypatch.setitem(queue.tasks, "test.mark", queue.Task(lambda job, **_: None))
    with shop_scope(shop), transaction.atomic():
        job = queue.enqueue("test.mark", mode=mode)
        Job.objects.filter(pk=job.pk).update(rung_at=None)
    return job


def wait_until_done(shop: Shop, job: Job, seconds: float) -> None:
    def is_done() -> bool:
        with shop_scope(shop):
            return Job.objects.get(pk=job.pk).state == Job.State.DONE

    wait_for(is_done, seconds)


def test_these_tests_stay_in_one_process(request: pytest.FixtureRequest) -> None:
    """Check the mark that runs these tests in one process. Concurrent tests would receive each other's messages."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        pytest.skip("one process runs them all")
    assert request.node.nodeid.endswith("@workers")


def wait_for_worker(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait until a worker runs jobs, because the time limit does not include the start of a worker."""
    wait_until_done(shop, make_job(shop, monkeypatch, "nothing"), STARTING)


# The sweep only reads the database. In the other tests, the sweep sends the first job with every broker.
@pytest.mark.parametrize("broker_url", ["filesystem", REDIS], indirect=True)
def test_sweep_does_the_work_of_a_lost_message(
    start_process: Start, intervals: Intervals, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shop = factories.make_shop()
    start_worker(start_process)
    start_process("beat")
    wait_for_worker(shop, monkeypatch)

    job = make_job(shop, monkeypatch, "quick")

    wait_until_done(shop, job, intervals.promise)
    assert (tmp_path / "marks").read_text().splitlines() == ["done"]


@pytest.mark.parametrize("broker_url", ["rabbitmq"], indirect=True)
def test_a_worker_killed_repeatedly_starts_at_once(start_process: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that a killed worker's exclusive queues and open connection do not prevent the start of a new worker."""
    shop = factories.make_shop()
    start_process("beat")
    for _ in range(2):
        killed = start_worker(start_process)
        wait_for_worker(shop, monkeypatch)
        os.killpg(killed.pid, signal.SIGKILL)

    last = start_worker(start_process)

    wait_for_worker(shop, monkeypatch)
    assert last.poll() is None


def test_work_of_a_killed_worker_is_done_by_another(
    start_process: Start, intervals: Intervals, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shop = factories.make_shop()
    start_process("beat")
    first = start_worker(start_process)
    job = make_job(shop, monkeypatch, "hang once")
    wait_for((tmp_path / "marks").exists, STARTING)
    start_worker(start_process, name="second")
    wait_for_worker(shop, monkeypatch)

    os.killpg(first.pid, signal.SIGKILL)

    wait_until_done(shop, job, intervals.promise)
    assert (tmp_path / "marks").read_text().splitlines() == ["begun", "done"]


@pytest.fixture
def celery_app(broker_url: str, tmp_path: Path) -> Iterator[Celery]:
    """Return a Celery app of an operator, which only knows the broker."""
    options = dict(celery.conf.broker_transport_options)
    if broker_url == "filesystem://":
        folder = tmp_path / "broker"
        options |= {f"data_folder_{way}": str(folder / "queue") for way in ("in", "out")}
        options |= {f"{name}_folder": str(folder / name) for name in ("processed", "control")}
        # The worker creates these folders, but the tool may start first.
        for name in ("queue", "processed", "control"):
            (folder / name).mkdir(parents=True, exist_ok=True)
    app = Celery("operator", set_as_current=False)
    app.conf.update(
        broker_url=broker_url.replace("filesystem://", "filesystem://localhost"),
        broker_transport_options=options,
        task_queues=celery.conf.task_queues,
        task_default_queue="default",
    )
    yield app
    app.close()


@contextmanager
def collect_events(app: Celery) -> Iterator[list[dict[str, Any]]]:
    """Collect the events of workers in a thread, as Flower does."""
    events: list[dict[str, Any]] = []
    with app.connection_for_read() as connection:
        receiver = app.events.Receiver(connection, handlers={"*": events.append})
        thread = threading.Thread(target=receiver.capture, kwargs={"wakeup": False})
        thread.start()
        try:
            yield events
        finally:
            receiver.should_stop = True
            thread.join(30)


def test_celery_tools_show_the_truth(
    start_process: Start, celery_app: Celery, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Check remote control, and the events of tasks that succeed, are retried and fail, with each broker."""
    shop = factories.make_shop()
    monkeypatch.setitem(queue.tasks, "test.fail", queue.Task(lambda job, **_: None))
    with collect_events(celery_app) as events:
        start_worker(start_process)
        start_process("beat")
        done = make_job(shop, monkeypatch, "quick")
        with shop_scope(shop), transaction.atomic():
            retried, failed = (queue.enqueue("test.fail", final=final) for final in (False, True))
            Job.objects.filter(pk__in=(retried.pk, failed.pk)).update(rung_at=None)
        expected = {
            (str(done.key), "task-succeeded"),
            (str(retried.key), "task-retried"),
            (str(failed.key), "task-failed"),
        }
        wait_for(lambda: expected <= {(event.get("uuid"), event["type"]) for event in [*events]}, STARTING)
        with shop_scope(shop):
            # Without this change, the worker could run the retry before it returns its statistics.
            Job.objects.filter(pk=retried.pk).update(due_at=timezone.now() + timedelta(hours=1))
        inspect = celery_app.control.inspect(timeout=10, limit=1)
        (pong,) = inspect.ping().values()
        (registered,) = inspect.registered().values()
        (queues,) = inspect.active_queues().values()
        (stats,) = inspect.stats().values()

    reasons = {event["uuid"]: event["exception"] for event in events if "exception" in event}
    received = {event["uuid"]: event for event in events if event["type"] == "task-received"}
    assert reasons == {str(retried.key): "ValueError('not yet')", str(failed.key): "GiveUp('the file is gone')"}
    assert received[str(failed.key)]["name"] == "test.fail"
    assert f"'shop_id': {shop.pk}" in received[str(failed.key)]["kwargs"]
    assert pong == {"ok": "pong"}
    assert {"content.extract_theme", "imports_exports.run_import", "jobs.send_due_jobs"} <= set(registered)
    assert {queue["name"] for queue in queues} == set(settings.TASK_QUEUES)
    assert stats["total"]["test.fail"] == 2
    assert (tmp_path / "marks").read_text().splitlines() == ["done"]


def test_a_worker_takes_only_the_queues_that_it_is_given(
    start_process: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shop = factories.make_shop()
    jobs = {name: make_job(shop, monkeypatch, "nothing") for name in ("bulk", "webhooks")}
    with shop_scope(shop):
        for name, job in jobs.items():
            Job.objects.filter(pk=job.pk).update(queue=name)
    # This worker only runs the periodic task that sends jobs.
    start_process("worker", "-Q", "default", "-n", "default@%h", "--concurrency", "1")
    start_process("beat")

    def is_sent() -> bool:
        with shop_scope(shop):
            return Job.objects.filter(rung_at__isnull=False).count() == 2

    wait_for(is_sent, STARTING)
    start_process("worker", "-Q", "bulk", "-n", "bulk@%h", "--concurrency", "1")

    wait_until_done(shop, jobs["bulk"], STARTING)
    with shop_scope(shop):
        assert Job.objects.get(pk=jobs["webhooks"].pk).state == Job.State.WAITING


@pytest.mark.parametrize("broker_url", ["filesystem"], indirect=True)
def test_a_worker_with_an_unknown_queue_does_not_start(start_process: Start) -> None:
    assert start_process("worker", "-Q", "bulk,nosuch").wait(STARTING) == 1
