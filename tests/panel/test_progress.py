"""Tests for progress pages, which reload automatically and display a warning if no worker runs the job."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.bulk.domain import edits
from apps.bulk.models import BulkEdit
from apps.customers.domain import erasure, merge
from apps.customers.models import Customer
from apps.exchange.domain import exports, imports
from apps.exchange.models import Export, Import
from apps.ground.tenancy import get_current_shop, shop_scope
from apps.jobs.domain import stalled_jobs
from apps.jobs.models import Job
from apps.shops.models import Shop
from tests.customers.factories import make_customer
from tests.panel.conftest import Panel

WAITS = "Waiting for a worker since"
LONG = stalled_jobs.EXPECTED_START + timedelta(seconds=5)
Page = tuple[Any, ...]


def _job(task: str, **arguments: int) -> Job:
    job: Job = Job.objects.create(shop=get_current_shop(), task=task, arguments=arguments)
    return job


def _import(panel: Panel) -> Page:
    saved_import = Import.objects.create(
        shop=panel.shop, name="in.csv", format="csv", digest="0" * 64, actor="system", state="importing"
    )
    _job(imports.RUN_TASK, import_id=saved_import.pk)
    return ("exchange_import_change", saved_import.pk)


def _export(panel: Panel) -> Page:
    export = Export.objects.create(shop=panel.shop, kind="orders", format="csv", user=panel.user)
    _job(exports.EXPORT, export_id=export.pk)
    return ("exchange_export_change", export.pk)


def _bulk(panel: Panel) -> Page:
    edit = BulkEdit.objects.create(
        shop=panel.shop, kind="products", ids=[1], total=1, actor="system", state=BulkEdit.State.RUNNING
    )
    _job(edits.RUN_TASK, edit_id=edit.pk)
    return ("bulk_bulkedit_change", edit.pk)


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


PAGES = (_import, _export, _bulk, _merging, _erasing, _any_job)


@pytest.fixture(params=PAGES, ids=lambda make: make.__name__[1:])
def load_progress_page(request: pytest.FixtureRequest, owner_client: Panel, shop: Shop) -> Callable[[], str]:
    """Return a function that loads a job's progress page."""
    with shop_scope(shop):
        address = request.param(owner_client)

    def shown() -> str:
        return owner_client.get(*address).content.decode()

    return shown


def _moved(shop: Shop, **values: Any) -> None:
    with shop_scope(shop):
        assert Job.objects.filter(state__in=("waiting", "running")).update(**values)


def test_the_page_goes_on_by_itself(load_progress_page: Callable[[], str]) -> None:
    page_text = load_progress_page()

    assert "data-progress" in page_text
    assert "panel/progress" in page_text
    assert WAITS not in page_text


def test_it_says_that_no_worker_takes_the_work(load_progress_page: Callable[[], str], shop: Shop) -> None:
    now = timezone.now()
    _moved(shop, due_at=now - LONG)
    assert WAITS in load_progress_page()
    # A worker runs the job.
    _moved(shop, state="running", lease_until=now + timedelta(minutes=1))
    assert WAITS not in load_progress_page()
    # The worker was killed.
    _moved(shop, lease_until=now - LONG)
    assert WAITS in load_progress_page()
    # The job is waiting for a later retry.
    _moved(shop, state="waiting", due_at=now + timedelta(minutes=5))
    assert WAITS not in load_progress_page()


def test_the_page_of_a_finished_job_does_not_reload(owner_client: Panel, shop: Shop) -> None:
    with shop_scope(shop):
        job = _job(edits.RUN_TASK, edit_id=0)
        Job.objects.filter(pk=job.pk).update(state="done", due_at=timezone.now() - LONG)

    html = owner_client.get("jobs_job_change", job.pk).content.decode()

    assert "data-progress" not in html
    assert WAITS not in html
