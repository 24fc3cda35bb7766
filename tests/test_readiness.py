import os
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.db import InterfaceError, OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.core.cache import get_or_compute
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from backoffice.observability import health
from tests.support.timing import get_time_limit

pytestmark = pytest.mark.django_db
ALL_WELL = {"database": True, "migrations": True, "broker": True}


@pytest.fixture(autouse=True)
def readiness(monkeypatch: pytest.MonkeyPatch) -> health.CachedChecks:
    for name in ("required_checks", "optional_checks"):
        checks: health.CachedChecks = getattr(health, name)
        fresh_checks = health.CachedChecks(checks.run_checks, dict.fromkeys(checks.results, False))
        monkeypatch.setattr(health, name, fresh_checks)
    return health.required_checks


def test_frequent_readiness_requests_query_the_database_once(client: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        first = client.get("/readyz")
        asked_once = len(queries)
        later = [client.get("/readyz") for _ in range(20)]

    assert first.json()["checks"] == ALL_WELL
    assert {response.status_code for response in (first, *later)} == {200}
    assert 0 < asked_once == len(queries)


def test_results_are_cached_for_two_seconds(client: Client, readiness: health.CachedChecks) -> None:
    client.get("/readyz")
    MigrationRecorder(connection).record_unapplied("shops", "0001_initial")
    cached_status = client.get("/readyz").status_code

    readiness.checked_at -= health.CACHE_SECONDS
    response = client.get("/readyz")

    assert (cached_status, response.status_code) == (200, 503)
    assert response.json()["checks"] == {**ALL_WELL, "migrations": False}


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_an_unreachable_database_is_named(
    client: Client, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def away() -> None:
        raise error("connection already closed")

    monkeypatch.setattr(connection, "cursor", away)
    monkeypatch.setattr(connection, "close", lambda: None)
    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json()["checks"] == {"database": False, "migrations": False, "broker": True}


@pytest.fixture
def wait_for_blocked_check(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Block checks until the test ends; return a function that starts a check and waits until the check runs."""
    looks, over = threading.Event(), threading.Event()

    def look() -> dict[str, bool]:
        looks.set()
        over.wait(30)
        return {**ALL_WELL}

    monkeypatch.setattr(health.required_checks, "run_checks", look)
    thread = threading.Thread(target=health.required_checks.get_results)

    def begin() -> None:
        thread.start()
        assert looks.wait(10)

    yield begin
    over.set()
    thread.join()


def test_requests_never_wait_for_a_check_and_old_results_expire_soon(
    wait_for_blocked_check: Callable[[], None], readiness: health.CachedChecks
) -> None:
    readiness.results = {**ALL_WELL}
    readiness.checked_at = time.monotonic() - health.CACHE_SECONDS
    wait_for_blocked_check()

    began = time.monotonic()
    first = readiness.get_results()
    readiness.checked_at -= health.EXPIRY_SECONDS
    later = readiness.get_results()

    assert all(first.values())
    assert not any(later.values())
    assert time.monotonic() - began < get_time_limit(1)


@pytest.mark.parametrize("part", ["cache", "storage", "jobs"])
def test_a_failed_optional_service_is_named_and_the_process_stays_ready(
    client: Client, shop: Shop, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    before = client.get("/readyz").json()
    health.optional_checks.checked_at -= health.CACHE_SECONDS
    if part == "jobs":
        with shop_scope(shop):
            Job.objects.create(shop=shop, task="none", due_at=timezone.now() - timedelta(minutes=11))
    elif part == "cache":
        monkeypatch.setattr(health, "shared_cache", None)
    else:
        monkeypatch.setattr(os, "access", lambda path, mode: "broker" in str(path))

    response = client.get("/readyz")

    assert before["status"] == "ok"
    assert (response.status_code, response.json()["status"]) == (200, "degraded")
    assert [name for name, there in response.json()["parts"].items() if not there] == [part]


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
