"""Tests for workers killed while checking or importing orders: another worker resumes, and no order is duplicated.

The worker runs in its own process and kills itself (``SIGKILL``) in the middle of the second batch.
"""

import io
import json
import signal
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
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
from tests.support.servers.killed_workers import run_killed_worker

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

ORDERS = 120
# Parts of statements that run once in each of the three batches: a check stores its counts, and an import stores
# payments after orders and line items.
CHECKED, TAKEN = '"counts" =', 'INSERT INTO "orders_transaction"'


def kill_and_finish(task: str, statement: str, folder: Path) -> None:
    job = Job.objects.get(task=task)
    ended = run_killed_worker(job, 2, statement, BACKOFFICE_DATA_DIR=str(folder))
    before = timezone.now() - timedelta(seconds=1)
    Job.objects.filter(pk=job.pk, state="running").update(lease_until=before)
    Import.objects.exclude(claimed_until=None).update(claimed_until=before)
    assert ended == -signal.SIGKILL
    assert 0 < Import.objects.get().done < ORDERS
    queue.run_job(job.key)


def build_orders() -> list[Attrs]:
    """Return import rows for paid orders of new customers. Every tenth row is invalid."""
    common: Attrs = {"financial_status": "paid", "line_items": [{"title": "Mug", "price": "12.50"}]}
    rows = [{"id": number, "email": f"a{number}@example.com", **common} for number in range(1, ORDERS + 1)]
    return [row | ({} if row["id"] % 10 else {"line_items": []}) for row in rows]


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
