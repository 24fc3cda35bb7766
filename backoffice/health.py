"""Liveness and readiness, for whatever watches the processes."""

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

from apps.ground import replica
from apps.ground.tenancy import every_shop
from apps.jobs.domain.figures import figures
from backoffice.server import supervisor

# Seconds for which what a check found is told to everybody.
KEPT_SECONDS = 2.0
# Seconds after which it is told no longer, though the next check has not come back.
TRUSTED_SECONDS = 10.0
# A job that is due for longer says that workers are missing, or too few.
PATIENT_SECONDS = 600.0


def healthz(request: HttpRequest) -> JsonResponse:
    """The process lives."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    """The process can serve: its database answers, is migrated, and the broker can be reached.

    Where something else is wrong that most requests do without (``parts``: the shared cache, the file storage, workers
    that come to their jobs), it says ``degraded`` and serves. Anybody may ask, so it costs next to nothing to be asked
    often.
    """
    checks = readiness.checks()
    others = parts.checks() if checks["database"] else dict.fromkeys(parts.found, False)
    ready = all(checks.values())
    status = "unavailable" if not ready else "ok" if all(others.values()) else "degraded"
    said: dict[str, object] = {"status": status, "checks": checks, "parts": others}
    if (board := supervisor.board) is not None:
        # Who answers serves; that others do not is for people to read, and no reason to be taken out of service.
        said["processes"] = {"serving": board.serving(), "of": board.places}
    return JsonResponse(said, status=200 if ready else 503)


@dataclass
class Readiness:
    """What was found last, in this process. One thread looks at a time; nobody waits for it.

    Attributes:
        look: Looks at each part.
        found: What it found; nothing is there before the first look.
    """

    look: Callable[[], dict[str, bool]]
    found: dict[str, bool]
    # The monotonic clock's seconds at which it was found.
    at: float = float("-inf")
    looking: threading.Lock = field(default_factory=threading.Lock)

    def checks(self) -> dict[str, bool]:
        """Whether each part that serving needs is there."""
        if self._age() >= KEPT_SECONDS and self.looking.acquire(blocking=False):
            try:
                if self._age() >= KEPT_SECONDS:
                    self.found, self.at = self.look(), time.monotonic()
            finally:
                self.looking.release()
        return self.found if self._age() < TRUSTED_SECONDS else dict.fromkeys(self.found, False)

    def _age(self) -> float:
        return time.monotonic() - self.at


def needed() -> Readiness:
    """Of what serving needs."""
    return Readiness(_look, dict.fromkeys(("database", "migrations", "broker"), False))


def _look() -> dict[str, bool]:
    database = _database()
    return {"database": database, "migrations": database and _migrations(), "broker": _broker()}


def _database() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            return bool(cursor.fetchone() == (1,))
    except Error:
        connection.close()
        return False


def _migrations() -> bool:
    try:
        return _shipped() <= MigrationRecorder(connection).applied_migrations().keys()
    except Error:
        return False


@cache
def _shipped() -> frozenset[tuple[str, str]]:
    """App and name of each migration that this code was written for."""
    return frozenset(MigrationLoader(None).disk_migrations)


def _broker() -> bool:
    if settings.BROKER_URL == "filesystem://":
        return os.access(Path(settings.BROKER_DIR) / "queue", os.W_OK)
    from backoffice.celery import app

    try:
        with app.connection_for_write(connect_timeout=1) as broker:
            broker.ensure_connection(max_retries=1, timeout=2)
        return True
    except Exception:
        # Whatever the broker's client raises, it says the same: not ready.
        return False


def beside() -> Readiness:
    """Of what most requests do without."""
    return Readiness(_look_beside, dict.fromkeys(("cache", "storage", "jobs"), False))


def _look_beside() -> dict[str, bool]:
    found = {"cache": _cache(), "storage": _storage(), "jobs": _jobs()}
    return found | {"replica": replica.standing.answers()} if replica.is_there() else found


def _cache() -> bool:
    try:
        shared_cache.set("readyz", "there", 60)
        return shared_cache.get("readyz") == "there"
    except Exception:
        return False


def _storage() -> bool:
    if isinstance(default_storage, FileSystemStorage):
        place = Path(default_storage.base_location)
        # It is made with the first file.
        return os.access(next(each for each in (place, *place.parents) if each.exists()), os.W_OK)
    try:
        default_storage.exists("readyz")
    except Exception:
        # Whatever the client of a bucket raises.
        return False
    return True


def _jobs() -> bool:
    try:
        with every_shop():
            return figures().oldest_due_seconds < PATIENT_SECONDS
    except Error:
        return False


readiness = needed()
parts = beside()
