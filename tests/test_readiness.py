import os
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from django.conf import settings
from django.core.cache import cache
from django.db import InterfaceError, OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.core.cache import get_or_compute
from apps.core.jobs.models import Job, WorkerProcess
from apps.core.jobs.worker_processes import delete_lost_processes, remove_process, report_process
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from backoffice.celery import app as celery_app
from backoffice.observability import health

pytestmark = pytest.mark.django_db
ALL_WELL = {"database": True, "migrations": True}
CHECKS = ("database", "migrations", "broker", "cache", "storage", "jobs", "workers", "replica")
NODES = ("worker", "busy@host"), ("scheduler", "scheduler@host")


def forget_results(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CHECKS:
        check: health.CachedCheck[Any] = getattr(health, f"{name}_check")
        monkeypatch.setattr(health, f"{name}_check", health.CachedCheck(check.run))


@pytest.fixture(autouse=True)
def running_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report a worker of all queues and a scheduler, and forget the results of earlier checks."""
    forget_results(monkeypatch)
    for role, node in NODES:
        report_process(role, node, settings.TASK_QUEUES if role == "worker" else ())


@pytest.fixture
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    monkeypatch.setattr(health, "time", SimpleNamespace(monotonic=lambda: now))


def test_frequent_readiness_requests_query_the_database_once(client: Client, stopped_clock: None) -> None:
    with CaptureQueriesContext(connection) as queries:
        first = client.get("/readyz")
        asked_once = len(queries)
        later = [client.get("/readyz") for _ in range(20)]

    assert first.json()["checks"] == ALL_WELL
    assert {response.status_code for response in (first, *later)} == {200}
    assert 0 < asked_once == len(queries)


def test_results_are_cached_for_two_seconds(client: Client, stopped_clock: None) -> None:
    client.get("/readyz")
    MigrationRecorder(connection).record_unapplied("shops", "0001_initial")
    cached_status = client.get("/readyz").status_code

    health.migrations_check.checked_at -= health.CACHE_SECONDS
    response = client.get("/readyz")

    assert (cached_status, response.status_code) == (200, 503)
    assert response.json()["checks"] == {**ALL_WELL, "migrations": False}


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_a_failed_database_leaves_other_parts_true_or_unknown(
    client: Client, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def away() -> None:
        raise error("connection already closed")

    monkeypatch.setattr(connection, "cursor", away)
    monkeypatch.setattr(connection, "close", lambda: None)
    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json() == {
        "status": "unavailable",
        "checks": {"database": False, "migrations": None},
        "parts": {"broker": True, "cache": True, "storage": True, "jobs": None, "workers": None, "scheduler": None},
    }


@pytest.fixture
def wait_for_blocked_check(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Block checks until the test ends; return a function that starts a check and waits until the check runs."""
    looks, over = threading.Event(), threading.Event()

    def look() -> bool:
        looks.set()
        over.wait(300)
        return True

    monkeypatch.setattr(health.storage_check, "run", look)
    thread = threading.Thread(target=health.storage_check.get_result)

    def begin() -> None:
        thread.start()
        assert looks.wait(60)

    yield begin
    over.set()
    thread.join()


def test_requests_never_wait_for_a_check_and_old_results_expire_soon(
    client: Client, wait_for_blocked_check: Callable[[], None]
) -> None:
    health.storage_check.result = True
    health.storage_check.checked_at = time.monotonic() - health.CACHE_SECONDS
    wait_for_blocked_check()

    began = time.monotonic()
    first = client.get("/readyz").json()
    health.storage_check.checked_at -= health.EXPIRY_SECONDS
    later = client.get("/readyz").json()

    assert (first["status"], first["parts"]["storage"]) == ("ok", True)
    assert (later["status"], later["checks"]) == ("degraded", ALL_WELL)
    assert [name for name, result in later["parts"].items() if not result] == ["storage"]
    assert later["parts"]["storage"] is None
    # A request that waits would wait for 300 seconds.
    assert time.monotonic() - began < 100


def lose_process(node: str, seconds: int = 61) -> None:
    """Move the last report of a process to an earlier time, as if the process had been killed."""
    WorkerProcess.objects.filter(node=node).update(seen_at=Now() - timedelta(seconds=seconds))


def break_part(part: str, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    if part == "broker":
        monkeypatch.setattr(settings, "BROKER_URL", "redis://127.0.0.1:1/0")
        monkeypatch.setattr(celery_app, "connection_for_write", Mock(side_effect=ConnectionRefusedError))
    elif part == "jobs":
        with shop_scope(shop):
            Job.objects.create(shop=shop, task="none", due_at=timezone.now() - timedelta(minutes=11))
    elif part == "cache":
        monkeypatch.setattr(health, "shared_cache", None)
    elif part == "storage":
        monkeypatch.setattr(os, "access", lambda path, mode: "broker" in str(path))
    else:
        lose_process(dict(NODES)[part.removesuffix("s")])


@pytest.mark.parametrize("part", ["broker", "cache", "storage", "jobs", "workers", "scheduler"])
def test_a_failed_part_is_named_and_the_process_stays_ready(
    client: Client, shop: Shop, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    before = client.get("/readyz").json()
    forget_results(monkeypatch)
    break_part(part, shop, monkeypatch)

    response = client.get("/readyz")

    assert before["status"] == "ok"
    assert (response.status_code, response.json()["status"]) == (200, "degraded")
    assert [name for name, there in response.json()["parts"].items() if not there] == [part]


def get_workers(client: Client, monkeypatch: pytest.MonkeyPatch) -> Any:
    forget_results(monkeypatch)
    return client.get("/readyz").json()["workers"]


def test_lost_workers_are_counted_for_a_day_or_until_their_return(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    report_process("worker", "second@host", ["bulk"])
    lose_process("busy@host")
    assert get_workers(client, monkeypatch) == {
        "alive": 1,
        "lost": 1,
        "queues_without_worker": [queue for queue in settings.TASK_QUEUES if queue != "bulk"],
    }

    report_process("worker", "busy@host", settings.TASK_QUEUES)
    assert get_workers(client, monkeypatch) == {"alive": 2, "lost": 0, "queues_without_worker": []}

    remove_process("second@host")
    lose_process("busy@host", seconds=86_390)
    delete_lost_processes(timezone.now())
    assert get_workers(client, monkeypatch)["lost"] == 1
    lose_process("busy@host", seconds=86_410)
    delete_lost_processes(timezone.now())
    queues = list(settings.TASK_QUEUES)
    assert get_workers(client, monkeypatch) == {"alive": 0, "lost": 0, "queues_without_worker": queues}


def test_a_failing_check_runs_once_and_its_error_is_reported() -> None:
    looked: list[int] = []

    def find() -> int:
        looked.append(1)
        raise OperationalError("no connection")

    with pytest.raises(OperationalError):
        get_or_compute("tests.nothing", find, 5)

    assert looked == [1]
    assert get_or_compute("tests.nothing", lambda: None, 5) is None
    assert cache.get("tests.nothing", "kept") is None
