"""Tests for workers killed while checking or importing orders: another worker resumes, and no order is duplicated.

The worker runs in its own process and kills itself (``SIGKILL``) in the middle of the second batch.
"""

import io
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import timezone
from pytest_django import Settings

from apps.core.events.models import Event
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.core.types import Attrs
from apps.customers.models import Customer
from apps.imports_exports.domain import imports
from apps.imports_exports.models import Import, ImportedRow
from apps.orders.models import LineItem, Order, Transaction
from backoffice.configuration.storages import get_storage_settings
from tests.support.servers.live import get_database_url

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

ORDERS = 120
# Parts of statements that run once in each of the three batches: a check stores its counts, and an import stores
# payments after orders and line items.
CHECKED, TAKEN = '"counts" =', 'INSERT INTO "orders_transaction"'
WORKER = """
import os, signal, sys, uuid
import django
django.setup()
from django.db import connection
from apps.core.jobs import queue  # noqa: E402

left = 2
def counted(execute, sql, params, many, context):
    global left
    left -= sys.argv[2] in sql
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    return execute(sql, params, many, context)

connection.ensure_connection()
with connection.execute_wrapper(counted):
    queue.run_job(uuid.UUID(sys.argv[1]))
"""


def run_killed_worker(job: Job, statement: str, folder: Path) -> int:
    """Run a worker that kills itself before it executes a statement for the second time; return the exit code."""
    env = {**os.environ, "DATABASE_URL": get_database_url(), "DJANGO_SETTINGS_MODULE": "backoffice.settings"}
    env |= {"BACKOFFICE_SECRET_KEY": settings.SECRET_KEY, "BACKOFFICE_DATA_DIR": str(folder)}
    command = [sys.executable, "-c", WORKER, str(job.key), statement]
    return subprocess.run(command, cwd=settings.BASE_DIR, env=env, check=False, timeout=120).returncode


def kill_and_finish(task: str, statement: str, folder: Path) -> None:
    """Kill a worker, let the lease expire, and finish the job in this process."""
    job = Job.objects.get(task=task)
    ended = run_killed_worker(job, statement, folder)
    before = timezone.now() - timedelta(seconds=1)
    Job.objects.filter(pk=job.pk, state="running").update(lease_until=before)
    Import.objects.exclude(claimed_until=None).update(claimed_until=before)
    assert ended == -signal.SIGKILL
    assert 0 < Import.objects.get().done < ORDERS
    queue.run_job(job.key)


def build_orders() -> list[Attrs]:
    """Return import rows for paid orders of new customers. Every tenth row is invalid."""
    line = {"title": "Mug", "price": "12.50"}
    return [
        {
            "id": number,
            "email": f"a{number}@example.com",
            "financial_status": "paid",
            "line_items": [line] if number % 10 else [],
        }
        for number in range(1, ORDERS + 1)
    ]


def test_killed_workers_leave_no_order_out_and_none_twice(shop: Shop, settings: Settings, tmp_path: Path) -> None:
    settings.STORAGES = {**settings.STORAGES, **get_storage_settings("", tmp_path / "media")}
    text = "".join(json.dumps({"order": row}) + "\n" for row in build_orders())
    with shop_scope(shop):
        import_job = imports.save_upload(io.BytesIO(text.encode()), "in.jsonl", actor="system", at=timezone.now())
        imports.enqueue_validation(import_job, actor="system")
        kill_and_finish(imports.VALIDATE_TASK, CHECKED, tmp_path)
        import_job.refresh_from_db()
        assert (import_job.state, import_job.counts) == (Import.State.CHECKED, {"new": 108, "failed": 12})
        imports.start_import(import_job, actor="system", at=timezone.now())
        kill_and_finish(imports.RUN_TASK, TAKEN, tmp_path)

        assert Counter(import_job.fates.filter(dry=False).values_list("fate", flat=True)) == {"new": 108, "failed": 12}
        assert set(import_job.fates.values_list("line", flat=True)) == set(range(1, ORDERS + 1))
        for model in (Order, LineItem, Transaction, Customer):
            assert model.objects.count() == 108
        assert Event.objects.filter(topic="orders/create").count() == 108
        assert sorted(Order.objects.values_list("number", flat=True)) == list(range(1, 109))
    with all_shops_scope():
        assert ImportedRow.objects.filter(dry=True).count() == 0
