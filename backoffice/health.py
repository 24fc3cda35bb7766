"""Liveness and readiness, for whatever watches the processes."""

import os
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse


def healthz(request: HttpRequest) -> JsonResponse:
    """The process lives."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    """The process can serve: its database answers, is migrated, and the broker can be reached."""
    checks = {"database": _database(), "migrations": _migrations(), "broker": _broker()}
    ready = all(checks.values())
    return JsonResponse({"status": "ok" if ready else "unavailable", "checks": checks}, status=200 if ready else 503)


def _database() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            return bool(cursor.fetchone() == (1,))
    except DatabaseError:
        connection.close()
        return False


def _migrations() -> bool:
    try:
        executor = MigrationExecutor(connection)
        return not executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError:
        return False


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
