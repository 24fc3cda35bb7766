"""Tests of the warning that no worker is running, on pages that wait for background jobs."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db.models.functions import Now
from django.utils import timezone

from apps.bulk_edits.domain import edits
from apps.bulk_edits.models import BulkEdit
from apps.content.domain import themes
from apps.content.models import Theme
from apps.core.jobs import metrics
from apps.core.jobs.models import Job, WorkerProcess
from apps.core.jobs.worker_processes import SILENT_AFTER, find_queues_without_worker, remove_process, report_process
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop, shop_scope
from apps.customers.domain import erasure, merge
from apps.customers.models import Customer
from apps.imports_exports.domain import exports, imports
from apps.imports_exports.models import Export, Import
from tests.support.factories.customers import make_customer
from tests.support.panel.client import Panel, PanelWith

pytestmark = pytest.mark.usefixtures("media_root", "in_shop")

BUSY, NO_WORKER = "All workers are busy.", "No worker is running"
COMMAND = "python -m backoffice.entrypoints.worker"
LONG = max(metrics.EXPECTED_START, SILENT_AFTER) + timedelta(seconds=5)
Page = tuple[Any, ...]


def _job(task: str, **arguments: int) -> Job:
    job: Job = Job.objects.create(shop=get_current_shop(), task=task, arguments=arguments)
    return job


def _import(panel: Panel) -> Page:
    saved_import = Import.objects.create(
        shop=panel.shop, name="in.csv", format="csv", digest="0" * 64, actor="system", state="importing"
    )
    _job(imports.RUN_TASK, import_id=saved_import.pk)
    return ("imports_exports_import_change", saved_import.pk)


def _export(panel: Panel) -> Page:
    export = Export.objects.create(shop=panel.shop, kind="orders", format="csv", user=panel.user)
    _job(exports.EXPORT, export_id=export.pk)
    return ("imports_exports_export_change", export.pk)


def _bulk(panel: Panel) -> Page:
    edit = BulkEdit.objects.create(
        shop=panel.shop, kind="products", ids=[1], total=1, actor="system", state=BulkEdit.State.RUNNING
    )
    _job(edits.RUN_TASK, edit_id=edit.pk)
    return ("bulk_edits_bulkedit_change", edit.pk)


def _merging(panel: Panel) -> Page:
    keep, other = make_customer(), make_customer()
    _job(merge.MERGE_TASK, keep_id=keep.pk, other_id=other.pk)
    return ("customers_customer_merge", keep.pk)


def _erasing(panel: Panel) -> Page:
    customer = make_customer()
    Customer.objects.filter(pk=customer.pk).update(erasing_at=timezone.now())
    _job(erasure.ERASE_TASK, customer_id=customer.pk)
    return ("customers_customer_data", customer.pk)


def _any_job(panel: Panel) -> Page:
    return ("jobs_job_change", _job(edits.RUN_TASK, edit_id=0).pk)


def _theme(panel: Panel) -> Page:
    theme = themes.create_theme(name="New", actor="system", at=timezone.now())
    Job.objects.filter(task=themes.EXTRACT_TASK).update(state="waiting")
    assert Theme.objects.get(pk=theme.pk).processing
    return ("content_theme_changelist",)


PAGES = (_import, _export, _bulk, _merging, _erasing, _theme, _any_job)


def silence(node: str, seconds: float) -> None:
    WorkerProcess.objects.filter(node=node).update(seen_at=Now() - timedelta(seconds=seconds))


@pytest.mark.parametrize("make", PAGES, ids=lambda make: make.__name__[1:])
def test_waiting_pages_refresh_and_say_why_a_job_does_not_run(
    make: Callable[[Panel], Page], owner_client: Panel
) -> None:
    address, now = make(owner_client), timezone.now()
    report_process("worker", "celery@host", settings.TASK_QUEUES)

    def find_warnings(**values: Any) -> list[str]:
        if values:
            assert Job.objects.filter(state__in=("waiting", "running")).update(**values)
        text = owner_client.get(*address).content.decode()
        assert "panel/progress" in text
        assert "data-progress" in text or values.get("due_at", now) > timezone.now()
        assert (COMMAND in text) == (NO_WORKER in text)
        return [warning for warning in (BUSY, NO_WORKER) if warning in text]

    assert find_warnings() == []
    assert find_warnings(due_at=now - LONG) == [BUSY]
    remove_process("celery@host")
    assert find_warnings() == [NO_WORKER]
    # A worker runs the job and renews its lease.
    lease = timedelta(seconds=settings.JOB_LEASE_SECONDS)
    assert find_warnings(state="running", lease_until=timezone.now() + lease) == []
    # The worker was killed.
    assert find_warnings(lease_until=timezone.now() + lease - LONG) == [NO_WORKER]
    report_process("worker", "celery@host", settings.TASK_QUEUES)
    assert find_warnings() == []
    assert find_warnings(lease_until=timezone.now() - LONG) == [BUSY]
    # The job is waiting for a later retry.
    assert find_warnings(state="waiting", due_at=timezone.now() + timedelta(minutes=5)) == []


def test_a_queue_without_a_worker_is_named(owner_client: Panel) -> None:
    report_process("worker", "fast@host", ["default", "webhooks"])
    job = Job.objects.create(shop=owner_client.shop, task=edits.RUN_TASK, queue="bulk", due_at=timezone.now() - LONG)
    other = Job.objects.create(shop=owner_client.shop, task=edits.RUN_TASK, due_at=timezone.now() - LONG)

    pages = [owner_client.get("jobs_job_change", row.pk).content.decode() for row in (job, other)]

    assert [f"{NO_WORKER} for the queue bulk." in page for page in pages] == [True, False]
    assert [f"{COMMAND} -Q bulk -n bulk@%h" in page for page in pages] == [True, False]
    assert [BUSY in page for page in pages] == [False, True]


def test_the_page_of_a_finished_job_does_not_reload(owner_client: Panel) -> None:
    job = _job(edits.RUN_TASK, edit_id=0)
    Job.objects.filter(pk=job.pk).update(state="done", due_at=timezone.now() - LONG)

    html = owner_client.get("jobs_job_change", job.pk).content.decode()

    assert "data-progress" not in html
    assert not any(warning in html for warning in (BUSY, "This job has been waiting"))


def test_workers_are_missing_after_the_limit_and_until_they_report_again() -> None:
    queues, limit = list(settings.TASK_QUEUES), SILENT_AFTER.total_seconds()
    assert find_queues_without_worker() == queues

    report_process("worker", "fast@host", ["default", "webhooks"])
    report_process("worker", "bulk@host", ["bulk"])
    report_process("scheduler", "bulk@host")
    assert find_queues_without_worker() == []
    # Workers of the last release report every 20 seconds.
    silence("bulk@host", 20)
    assert find_queues_without_worker() == []
    silence("bulk@host", limit + 1)
    assert find_queues_without_worker() == ["bulk"]
    report_process("worker", "second@host", ["bulk", "default"])
    assert find_queues_without_worker() == []
    silence("fast@host", limit + 1)
    assert find_queues_without_worker() == ["webhooks"]
    report_process("worker", "fast@host", ["default", "webhooks"], is_first=False)
    assert find_queues_without_worker() == []


def test_a_renewed_lease_of_any_shop_proves_that_a_worker_is_running(other_shop: Shop) -> None:
    lease = timedelta(seconds=settings.JOB_LEASE_SECONDS)
    with shop_scope(other_shop):
        job = Job.objects.create(
            shop=other_shop, task=edits.RUN_TASK, queue="bulk", state="running", lease_until=timezone.now() + lease
        )

    assert find_queues_without_worker() == ["default", "webhooks"]
    with shop_scope(other_shop):
        Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() + lease - LONG)
    assert find_queues_without_worker() == list(settings.TASK_QUEUES)


LISTS = (
    "index",
    "jobs_job_changelist",
    "imports_exports_import_changelist",
    "imports_exports_export_changelist",
    "bulk_edits_bulkedit_changelist",
    "webhooks_delivery_changelist",
)


@pytest.mark.parametrize("name", LISTS)
def test_the_home_page_and_lists_warn_while_no_worker_is_running(name: str, owner_client: Panel) -> None:
    def get_text() -> str:
        page = owner_client.get(name).content.decode()
        assert f'data-workers="{owner_client.url("workers")}"' in page
        assert "panel/workers" in page
        return " ".join(page.split())

    assert f"<strong> {NO_WORKER}. </strong>" in get_text()
    report_process("worker", "fast@host", ["default"])
    assert f"<strong> {NO_WORKER} for the queues webhooks, bulk. </strong>" in get_text()
    report_process("worker", "slow@host", ["bulk", "webhooks"])
    assert NO_WORKER not in get_text()


def test_all_staff_can_request_the_warning(admin_client_with: PanelWith) -> None:
    panel = admin_client_with()
    page = panel.get("workers")

    assert NO_WORKER in page.content.decode()
    assert "no-store" in page["Cache-Control"]
    report_process("worker", "celery@host", settings.TASK_QUEUES)
    assert panel.get("workers").content.decode().strip() == ""
