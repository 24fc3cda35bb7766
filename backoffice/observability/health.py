"""The liveness probe ``/healthz`` and the readiness probe ``/readyz``."""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Generic, TypeVar

from django.conf import settings
from django.core.cache import cache as shared_cache
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import Error, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, JsonResponse

from apps.core.db.postgresql import replica
from apps.core.jobs.metrics import get_job_metrics
from apps.core.jobs.worker_processes import WorkerMetrics, get_worker_metrics
from apps.core.tenancy.scope import all_shops_scope

T = TypeVar("T")

# The results of checks are reused for this many seconds.
CACHE_SECONDS = 2.0
# The results expire after this many seconds, even if new checks are still running.
EXPIRY_SECONDS = 10.0
# If a job has been due for longer than this, no workers or too few workers are running.
MAX_JOB_DELAY_SECONDS = 600.0


def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    """Report whether the process can serve requests: the database responds, and all migrations are applied.

    If only other parts fail (broker, cache, storage, jobs, workers, scheduler, replica), requests still succeed, so the
    status is ``degraded`` with code 200. The value of a part that could not be checked is null. Results are cached,
    because anyone may call this view as often as they like.
    """
    database = database_check.get_result()
    checks = {"database": database, "migrations": migrations_check.get_result() if database else None}
    workers = workers_check.get_result() if database else None
    parts: dict[str, bool | None] = {
        "broker": broker_check.get_result(),
        "cache": cache_check.get_result(),
        "storage": storage_check.get_result(),
        "jobs": jobs_check.get_result() if database else None,
        "workers": None if workers is None else not (workers.workers["lost"] or workers.queues_without_worker),
        "scheduler": None if workers is None else workers.schedulers["alive"] > 0,
    }
    if replica.has_replica():
        parts["replica"] = replica_check.get_result() if database else None
    is_ready = all(checks.values())
    status = "unavailable" if not is_ready else "ok" if all(parts.values()) else "degraded"
    report: dict[str, object] = {"status": status, "checks": checks, "parts": parts}
    if workers:
        report["workers"] = {**workers.workers, "queues_without_worker": workers.queues_without_worker}
        report["schedulers"] = workers.schedulers
    return JsonResponse(report, status=200 if is_ready else 503)


@dataclass
class CachedCheck(Generic[T]):
    """A check and its cached result. One thread at a time runs the check, and no request waits for another thread."""

    run: Callable[[], T]
    # The result is None before the first check.
    result: T | None = None
    # The time of the result, in seconds of the monotonic clock.
    checked_at: float = float("-inf")
    check_lock: threading.Lock = field(default_factory=threading.Lock)

    def get_result(self) -> T | None:
        """Return the latest result, or None if the result is too old because a check does not end."""
        if self._age() >= CACHE_SECONDS and self.check_lock.acquire(blocking=False):
            try:
                if self._age() >= CACHE_SECONDS:
                    self.result, self.checked_at = self.run(), time.monotonic()
            finally:
                self.check_lock.release()
        return self.result if self._age() < EXPIRY_SECONDS else None

    def _age(self) -> float:
        return time.monotonic() - self.checked_at


def _is_database_up() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            return bool(cursor.fetchone() == (1,))
    except Error:
        connection.close()
        return False


def _is_migrated() -> bool | None:
    try:
        return _list_migrations() <= MigrationRecorder(connection).applied_migrations().keys()
    except Error:
        return None


@cache
def _list_migrations() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationLoader(None).disk_migrations)


def _is_broker_up() -> bool:
    if settings.BROKER_URL == "filesystem://":
        return os.access(Path(settings.BROKER_DIR) / "queue", os.W_OK)
    from backoffice.celery import app

    timeouts = {"socket_timeout": 1, "socket_connect_timeout": 1}
    options = timeouts if settings.BROKER_URL.startswith("redis") else {}
    try:
        with app.connection_for_write(connect_timeout=1, transport_options=options) as broker:
            broker.ensure_connection(max_retries=1, timeout=2)
        return True
    except Exception:
        # Every broker client raises its own exceptions, and all of them mean that the broker is not reachable.
        return False


def _is_cache_up() -> bool:
    try:
        shared_cache.set("readyz", "there", 60)
        return shared_cache.get("readyz") == "there"
    except Exception:
        return False


def _is_storage_up() -> bool:
    if isinstance(default_storage, FileSystemStorage):
        folder = Path(default_storage.base_location)
        # A missing folder is not an error, because the first upload creates the folder.
        return os.access(next(parent for parent in (folder, *folder.parents) if parent.exists()), os.W_OK)
    try:
        default_storage.exists("readyz")
    except Exception:
        # Every storage client raises its own exceptions, and all of them mean that the storage is not reachable.
        return False
    return True


def _are_jobs_on_time() -> bool | None:
    try:
        with all_shops_scope():
            return get_job_metrics().oldest_due_seconds < MAX_JOB_DELAY_SECONDS
    except Error:
        return None


def _find_workers() -> WorkerMetrics | None:
    try:
        return get_worker_metrics()
    except Error:
        return None


# The first two checks decide whether the process is ready. If the database does not respond, no other check that needs
# the database runs.
database_check = CachedCheck(_is_database_up)
migrations_check = CachedCheck(_is_migrated)
broker_check = CachedCheck(_is_broker_up)
cache_check = CachedCheck(_is_cache_up)
storage_check = CachedCheck(_is_storage_up)
jobs_check = CachedCheck(_are_jobs_on_time)
workers_check = CachedCheck(_find_workers)
replica_check = CachedCheck(replica.replica_status.is_available)
