"""Tests of bulk edits: operations on values, and edits resumed after a crash."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from apps.bulk_edits.domain import edits, targets
from apps.bulk_edits.domain.operations import ValueRefused, apply_operations, summarize_value
from apps.bulk_edits.models import BulkEdit, EditedRow
from apps.catalog.models import Variant
from apps.core.events.changed_rows import ROWS
from apps.core.events.models import Event
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tags import MAX_TAGS
from apps.core.tenancy.actor_names import get_staff_actor
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from tests.support.factories import make_member
from tests.support.factories.catalog import make_product


def change_price(how: str, value: str = "", rounding: str = "") -> Attrs:
    return {"price": {"how": how, "value": value, "round": rounding}}


@pytest.mark.parametrize(
    ("present", "operation", "currency", "after"),
    [
        ("10.00", change_price("percent", "-10"), "USD", "9.00"),
        ("9.99", change_price("percent", "7.5"), "USD", "10.74"),
        ("0.05", change_price("percent", "10"), "USD", "0.06"),
        ("999", change_price("percent", "10"), "JPY", "1099"),
        ("1.005", change_price("percent", "50"), "KWD", "1.508"),
        ("10.00", change_price("amount", "-2.5"), "USD", "7.50"),
        ("10.00", change_price("set", "12"), "USD", "12.00"),
        ("10.00", change_price("percent", "3", "0.99"), "USD", "10.99"),
        ("10.99", change_price("percent", "0", "0.99"), "USD", "10.99"),
        ("10.00", change_price("percent", "3", "0.05"), "USD", "10.30"),
        ("10.00", change_price("percent", "-100", "0.99"), "USD", "0.00"),
        ("14", change_price("percent", "10", "10"), "JPY", "20"),
    ],
)
def test_amounts_are_exact_and_rounded_once(present: str, operation: Attrs, currency: str, after: str) -> None:
    assert {"price": {"1": present}, **apply_operations({"price": {"1": present}}, operation, currency)} == {
        "price": {"1": after}
    }


@pytest.mark.parametrize("operation", [change_price("amount", "-10.01"), change_price("percent", "99999999999999")])
def test_an_amount_that_no_price_can_be_is_refused(operation: Attrs) -> None:
    with pytest.raises(ValueRefused):
        apply_operations({"price": {"1": "10.00"}}, operation, "USD")


def test_prices_are_copied_from_what_stood_there_before() -> None:
    values = {"price": {"1": "10.00", "2": "5.00"}, "compare_at_price": {"1": None, "2": "8.00"}}
    sale = {"price": change_price("percent", "-20")["price"], "compare_at_price": {"how": "copy"}}

    assert apply_operations(values, sale, "USD") == {
        "price": {"1": "8.00", "2": "4.00"},
        "compare_at_price": {"1": "10.00", "2": "5.00"},
    }
    over = {"price": {"how": "copy"}, "compare_at_price": {"how": "clear"}}
    assert apply_operations(values, over, "USD") == {
        "price": {"1": "10.00", "2": "8.00"},
        "compare_at_price": {"1": None, "2": None},
    }


def test_a_missing_compare_at_price_is_neither_raised_nor_lowered() -> None:
    operation = {"compare_at_price": {"how": "percent", "value": "10"}}

    assert apply_operations({"compare_at_price": {"1": None}}, operation, "USD") == {}


def test_tags_are_added_and_removed_case_insensitively() -> None:
    operation = {"tags": {"add": ["new", "Sale"], "remove": ["OLD"]}}

    assert apply_operations({"tags": "old, SALE"}, operation, "USD") == {"tags": "new, SALE"}
    assert apply_operations({"tags": "new, sale"}, operation, "USD") == {}


def test_more_tags_than_a_row_can_have_are_refused() -> None:
    full = ", ".join(f"t{number:03}" for number in range(MAX_TAGS))

    with pytest.raises(ValueRefused, match="too many tags"):
        apply_operations({"tags": full}, {"tags": {"add": ["one more"], "remove": []}}, "USD")


def test_prices_of_many_variants_are_shown_as_a_range() -> None:
    assert summarize_value({"1": "9.00", "2": "10.00", "3": "9.50"}) == ["9.00", "10.00"]


LOWER = {"price": {"how": "percent", "value": "-50", "round": ""}}


class WorkerKilled(BaseException):
    """Raised to simulate a killed worker."""


def kill_at(moment: int) -> Callable[..., object]:
    remaining = moment

    def count_updates(
        execute: Callable[..., object], sql: str, params: object, is_many: bool, context: object
    ) -> object:
        nonlocal remaining
        # The database rolls back uncommitted changes.
        if not sql.startswith(("ROLLBACK", "RELEASE")):
            remaining -= 1
            if remaining == 0:
                raise WorkerKilled
        return execute(sql, params, is_many, context)

    return count_updates


def create_started_edit(shop: Shop) -> tuple[BulkEdit, Job]:
    actor = get_staff_actor(make_member(shop, "products"))
    ids = [make_product(f"Mug {number}", prices=("10.00", "20.00")).pk for number in range(3)]
    edit = edits.create_draft(targets.edit_targets["products"], ids, actor=actor, at=timezone.now())
    edits.plan_edit(edit, LOWER, actor=actor, at=timezone.now())
    edits.start_edit(edit, actor=actor, at=timezone.now())
    return edit, Job.objects.get(task=edits.RUN_TASK)


@pytest.mark.parametrize("moment", [*range(1, 90, 7), 1000])
def test_rows_are_changed_once_whenever_the_worker_dies(shop: Shop, moment: int) -> None:
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


def test_the_entry_of_each_product_contains_its_old_and_new_prices(shop: Shop) -> None:
    with shop_scope(shop):
        _edit, job = create_started_edit(shop)
        queue.run_job(job.key)

        events = list(Event.objects.filter(topic="products/update"))
        assert [[row["changes"]["price"] for row in event.changes[ROWS]["rows"]] for event in events] == [
            [["10.000", "5.00"], ["20.000", "10.00"]]
        ] * 3


def test_a_worker_that_lost_its_lease_changes_nothing_more(shop: Shop) -> None:
    with shop_scope(shop):
        edit, job = create_started_edit(shop)

        def stolen(execute: Callable[..., object], sql: str, params: object, is_many: bool, context: object) -> object:
            if sql.startswith("INSERT") and "bulk_edits_editedrow" in sql:
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
