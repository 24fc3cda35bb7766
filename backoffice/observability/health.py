"""The liveness probe ``/healthz`` and the readiness probe ``/readyz``."""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from django.conf import settings
from django.core.cache import cache as shared_cache
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import Error, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, JsonResponse

from apps.core.db import replica
from apps.core.jobs.metrics import get_job_metrics
from apps.core.tenancy.scope import all_shops_scope
from backoffice.server import supervisor

# The results of checks are reused for this many seconds.
CACHE_SECONDS = 2.0
# The results expire after this many seconds, even if new checks are still running.
EXPIRY_SECONDS = 10.0
# If a job has been due for longer than this, no workers or too few workers are running.
MAX_JOB_DELAY_SECONDS = 600.0


def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    """Report whether the process can serve requests: database and broker are reachable, and all migrations are applied.

    If only optional parts fail (shared cache, file storage, job processing), the status is ``degraded`` with code 200.
    Results are cached, because anyone may call this view as often as they like.
    """
    checks = required_checks.get_results()
    optional = optional_checks.get_results() if checks["database"] else dict.fromkeys(optional_checks.results, False)
    ready = all(checks.values())
    status = "unavailable" if not ready else "ok" if all(optional.values()) else "degraded"
    report: dict[str, object] = {"status": status, "checks": checks, "parts": optional}
    if (board := supervisor.board) is not None:
        # The number of serving processes does not affect the status, because this process is able to respond.
        report["processes"] = {"serving": board.serving(), "of": board.places}
    return JsonResponse(report, status=200 if ready else 503)


@dataclass
class CachedChecks:
    """The cached results of the checks by part. One thread at a time runs the checks, and no request waits for it."""

    run_checks: Callable[[], dict[str, bool]]
    # All results are False before the first check.
    results: dict[str, bool]
    # The time of the latest results, in seconds of the monotonic clock.
    checked_at: float = float("-inf")
    check_lock: threading.Lock = field(default_factory=threading.Lock)

    def get_results(self) -> dict[str, bool]:
        """Return the latest results, keyed by part. Results that are too old count as False."""
        if self._age() >= CACHE_SECONDS and self.check_lock.acquire(blocking=False):
            try:
                if self._age() >= CACHE_SECONDS:
                    self.results, self.checked_at = self.run_checks(), time.monotonic()
            finally:
                self.check_lock.release()
        return self.results if self._age() < EXPIRY_SECONDS else dict.fromkeys(self.results, False)

    def _age(self) -> float:
        return time.monotonic() - self.checked_at


def _check_required() -> dict[str, bool]:
    database = _is_database_up()
    return {"database": database, "migrations": database and _is_migrated(), "broker": _is_broker_up()}


def _is_database_up() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            return bool(cursor.fetchone() == (1,))
    except Error:
        connection.close()
        return False


def _is_migrated() -> bool:
    try:
        return _list_migrations() <= MigrationRecorder(connection).applied_migrations().keys()
    except Error:
        return False


@cache
def _list_migrations() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationLoader(None).disk_migrations)


def _is_broker_up() -> bool:
    if settings.BROKER_URL == "filesystem://":
        return os.access(Path(settings.BROKER_DIR) / "queue", os.W_OK)
    from backoffice.celery import app

    try:
        with app.connection_for_write(connect_timeout=1) as broker:
            broker.ensure_connection(max_retries=1, timeout=2)
        return True
    except Exception:
        # Every broker client raises its own exceptions, and all of them mean "not ready".
        return False


def _check_optional() -> dict[str, bool]:
    results = {"cache": _is_cache_up(), "storage": _is_storage_up(), "jobs": _are_jobs_on_time()}
    return results | {"replica": replica.replica_status.is_available()} if replica.has_replica() else results


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


def _are_jobs_on_time() -> bool:
    try:
        with all_shops_scope():
            return get_job_metrics().oldest_due_seconds < MAX_JOB_DELAY_SECONDS
    except Error:
        return False


# The checks for the parts that are required to serve requests, and for other parts.
required_checks = CachedChecks(_check_required, dict.fromkeys(("database", "migrations", "broker"), False))
optional_checks = CachedChecks(_check_optional, dict.fromkeys(("cache", "storage", "jobs"), False))
