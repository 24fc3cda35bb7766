"""Tests that a bulk edit survives a killed worker: each row is changed and reported once."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from apps.bulk.domain import edits, targets
from apps.bulk.models import BulkEdit, EditedRow
from apps.catalog.models import Variant
from apps.events.models import Event
from apps.ground.tenancy import shop_scope
from apps.jobs.domain import queue
from apps.jobs.models import Job
from apps.shops.models import Shop
from apps.staff.domain.actor_names import get_staff_actor
from tests.catalog.factories import make_product
from tests.factories import make_member

LOWER = {"price": {"how": "percent", "value": "-50", "round": ""}}


class WorkerKilled(BaseException):
    """Raised to simulate a killed worker."""


def kill_at(moment: int) -> Callable[..., Any]:
    remaining = moment

    def counted(execute: Callable[..., Any], sql: str, params: Any, is_many: bool, context: Any) -> Any:
        nonlocal remaining
        # The database rolls back uncommitted changes.
        if not sql.startswith(("ROLLBACK", "RELEASE")):
            remaining -= 1
            if remaining == 0:
                raise WorkerKilled
        return execute(sql, params, is_many, context)

    return counted


def create_started_edit(shop: Shop) -> tuple[BulkEdit, Job]:
    actor = get_staff_actor(make_member(shop, "products"))
    ids = [make_product(f"Mug {number}", prices=("10.00", "20.00")).pk for number in range(3)]
    edit = edits.create_draft(targets.get_target("products"), ids, actor=actor, at=timezone.now())
    edits.plan_edit(edit, LOWER, actor=actor, at=timezone.now())
    edits.start_edit(edit, actor=actor, at=timezone.now())
    return edit, Job.objects.get(task=edits.RUN_TASK)


@pytest.mark.parametrize("moment", [*range(1, 90, 7), 1000])
def test_no_row_is_changed_twice_whenever_the_worker_dies(shop: Shop, moment: int) -> None:
    with shop_scope(shop):
        edit, job = create_started_edit(shop)
        died = False
        try:
            with connection.execute_wrapper(kill_at(moment)):
                queue.run_job(job.key)
        except WorkerKilled:
            died = True
        Job.objects.filter(pk=job.pk, state="running").update(lease_until=timezone.now() - timedelta(seconds=1))
        queue.run_job(job.key)

        assert died == (moment < 1000)
        assert sorted(map(str, Variant.objects.values_list("price", flat=True))) == ["10.000"] * 3 + ["5.000"] * 3
        assert [*EditedRow.objects.filter(edit=edit, dry=False).values_list("fate", flat=True)] == ["changed"] * 3
        assert Event.objects.filter(topic="products/update").count() == 3
        edit.refresh_from_db()
        job.refresh_from_db()
        assert (edit.state, job.state, job.progress_done) == ("done", "done", 3)


def test_a_worker_that_lost_its_lease_changes_nothing_more(shop: Shop) -> None:
    with shop_scope(shop):
        edit, job = create_started_edit(shop)

        def stolen(execute: Callable[..., Any], sql: str, params: Any, is_many: bool, context: Any) -> Any:
            if sql.startswith("INSERT") and "bulk_editedrow" in sql:
                raise WorkerKilled
            return execute(sql, params, is_many, context)

        with pytest.raises(WorkerKilled), connection.execute_wrapper(stolen):
            queue.run_job(job.key)

        assert not EditedRow.objects.filter(edit=edit, dry=False).exists()
        assert sorted(map(str, Variant.objects.values_list("price", flat=True))) == ["10.000"] * 3 + ["20.000"] * 3


def test_an_undo_that_was_cut_off_goes_on(shop: Shop) -> None:
    with shop_scope(shop):
        edit, job = create_started_edit(shop)
        queue.run_job(job.key)
        edits.start_undo(edit, actor=job.actor, at=timezone.now())
        back = Job.objects.get(task=edits.UNDO_TASK)
        with pytest.raises(WorkerKilled), connection.execute_wrapper(kill_at(60)):
            queue.run_job(back.key)
        Job.objects.filter(pk=back.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
        queue.run_job(back.key)

        assert sorted(map(str, Variant.objects.values_list("price", flat=True))) == ["10.000"] * 3 + ["20.000"] * 3
        edit.refresh_from_db()
        assert edit.state == "undone"
