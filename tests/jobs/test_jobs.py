import re
import uuid
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from django.apps import apps
from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from pytest_django import Settings
from time_machine import TimeMachineFixture

from apps.core.i18n.messages import translate
from apps.core.jobs import job_tasks, publishing, queue
from apps.core.jobs.models import Job
from apps.core.jobs.periodic_tasks import periodic_tasks
from apps.core.registry import NotRegistered
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop, shop_scope
from tests.jobs.conftest import make_waiting_jobs


@dataclass
class RecordingTask:
    """A task that records its calls and its given-up jobs. It raises the first error, if there is one."""

    calls: list[tuple[int, dict[str, object]]] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)
    given_up: list[int] = field(default_factory=list)


@pytest.fixture
def task(monkeypatch: pytest.MonkeyPatch) -> RecordingTask:
    task = RecordingTask()

    def run(job: Job, **arguments: object) -> None:
        task.calls.append((get_current_shop().pk, arguments))
        if task.errors:
            raise task.errors[0]

    monkeypatch.setitem(queue.tasks, "test.task", queue.Task(run, on_give_up=lambda job: task.given_up.append(job.pk)))
    return task


def enqueue_job(shop: Shop, **arguments: Any) -> Job:
    with shop_scope(shop), transaction.atomic():
        return queue.enqueue("test.task", actor="app:1", **arguments)


def advance_job(shop: Shop, job: Job, seconds: float) -> None:
    """Move a job's times into the past, because tests cannot change the database clock."""
    passed = timedelta(seconds=seconds)
    update_job(shop, job, **{name: F(name) - passed for name in ("due_at", "lease_until", "rung_at")})


def reload_job(shop: Shop, job: Job) -> Job:
    with shop_scope(shop):
        return Job.objects.get(pk=job.pk)


def update_job(shop: Shop, job: Job, **values: object) -> None:
    with shop_scope(shop):
        Job.objects.filter(pk=job.pk).update(**values)


@pytest.mark.django_db(transaction=True)
def test_the_broker_is_notified_after_the_commit(
    shop: Shop, task: RecordingTask, notified_jobs: list[uuid.UUID]
) -> None:
    with shop_scope(shop):
        with transaction.atomic():
            job = queue.enqueue("test.task")
            assert notified_jobs == []
        with transaction.atomic():
            queue.enqueue("test.task")
            transaction.set_rollback(True)
        assert Job.objects.count() == 1

    assert notified_jobs == [job.key]


def test_job_is_done_in_its_shop_and_only_once(shop: Shop, task: RecordingTask) -> None:
    job = enqueue_job(shop, thing=7)

    assert [queue.run_job(job.key), queue.run_job(job.key)] == [True, False]
    assert task.calls == [(shop.pk, {"thing": 7})]
    assert reload_job(shop, job).state == Job.State.DONE


def test_failed_job_waits_and_is_tried_again(shop: Shop, task: RecordingTask) -> None:
    task.errors.append(ValueError("not yet"))
    job = enqueue_job(shop)

    queue.run_job(job.key)
    waiting = reload_job(shop, job)
    at_once = queue.run_job(job.key)
    task.errors.clear()
    advance_job(shop, job, queue.BACK_OFF_SECONDS[0] + 1)
    later = queue.run_job(job.key)

    assert (waiting.state, waiting.error, waiting.attempts) == (Job.State.WAITING, "not yet", 1)
    assert (at_once, later) == (False, True)
    assert reload_job(shop, job).state == Job.State.DONE


def test_a_failing_job_is_parked(shop: Shop, task: RecordingTask) -> None:
    task.errors.append(ValueError("never"))
    job = enqueue_job(shop)

    for _ in range(queue.MAX_ATTEMPTS):
        assert queue.run_job(job.key)
        advance_job(shop, job, 3601)
    parked = reload_job(shop, job)
    task.errors.clear()
    other = enqueue_job(shop)
    queue.run_job(other.key)

    assert (parked.state, parked.attempts) == (Job.State.FAILED, queue.MAX_ATTEMPTS)
    assert task.given_up == [job.pk]
    assert not queue.run_job(job.key)
    assert reload_job(shop, other).state == Job.State.DONE


def test_failed_jobs_are_retried_on_request(shop: Shop, task: RecordingTask) -> None:
    task.errors.append(queue.GiveUp("no such file"))
    job = enqueue_job(shop)
    queue.run_job(job.key)
    given_up = reload_job(shop, job)
    task.errors.clear()

    with shop_scope(shop):
        retried = queue.retry_job(job)
    queue.run_job(job.key)

    assert (given_up.state, given_up.error) == (Job.State.FAILED, "no such file")
    assert retried
    assert reload_job(shop, job).state == Job.State.DONE


def test_sweep_replaces_lost_messages_and_rings_again_after_a_minute(
    shop: Shop, task: RecordingTask, notified_jobs: list[uuid.UUID]
) -> None:
    job = enqueue_job(shop)

    early = publishing.send_due_jobs()
    advance_job(shop, job, publishing.SEND_AGAIN_AFTER.seconds + 1)
    stale, soon = publishing.send_due_jobs(), publishing.send_due_jobs()
    advance_job(shop, job, publishing.SEND_AGAIN_AFTER.seconds + 1)
    later = publishing.send_due_jobs()

    assert (early, stale, soon, later) == (0, 1, 0, 1)
    assert notified_jobs[-2:] == [job.key] * 2


def test_sweeps_notify_once_for_each_job(shop: Shop, task: RecordingTask, notified_jobs: list[uuid.UUID]) -> None:
    make_waiting_jobs(shop, 1200, rung_at=timezone.now() - timedelta(minutes=5))

    assert [publishing.send_due_jobs() for _ in range(3)] == [1200, 0, 0]
    assert len(notified_jobs) == len(set(notified_jobs)) == 1200


def test_sweep_rings_later_for_what_an_absent_broker_did_not_hear(
    shop: Shop, task: RecordingTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_waiting_jobs(shop, 3)
    counts: list[int] = []
    keys: list[str] = []

    def send(name: str, *, task_id: str, **_: object) -> None:
        if len(keys) == 1 and not counts:
            raise ConnectionError("no broker")
        keys.append(task_id)

    monkeypatch.setattr(publishing, "send_task", send)
    counts.append(publishing.send_due_jobs())
    counts.append(publishing.send_due_jobs())

    assert (counts, len(set(keys))) == ([1, 2], 3)


def test_lease_of_a_dead_worker_runs_out(shop: Shop, task: RecordingTask) -> None:
    job = enqueue_job(shop)
    until = timezone.now() + timedelta(seconds=30)
    update_job(shop, job, state=Job.State.RUNNING, attempts=1, lease=uuid.uuid4(), lease_until=until)

    first_run = queue.run_job(job.key)
    advance_job(shop, job, 31)

    assert (first_run, publishing.send_due_jobs(), queue.run_job(job.key)) == (False, 1, True)
    assert reload_job(shop, job).attempts == 2


def test_job_that_kills_workers_is_parked(shop: Shop, task: RecordingTask) -> None:
    job = enqueue_job(shop)
    until = timezone.now() - timedelta(seconds=1)
    update_job(shop, job, state=Job.State.RUNNING, attempts=queue.MAX_ATTEMPTS, lease_until=until)

    queue.run_job(job.key)

    assert (reload_job(shop, job).state, task.calls) == (Job.State.FAILED, [])


def test_outcome_of_a_worker_that_lost_its_lease_is_not_written(
    shop: Shop, task: RecordingTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = enqueue_job(shop)
    other = uuid.uuid4()

    def lose_lease(job: Job, **_: object) -> None:
        Job.objects.filter(pk=job.pk).update(lease=other)
        raise ValueError("late")

    monkeypatch.setitem(queue.tasks, "test.task", queue.Task(lose_lease))
    queue.run_job(job.key)

    lost = reload_job(shop, job)
    assert (lost.state, lost.lease) == (Job.State.RUNNING, other)


def test_unknown_task_is_refused_when_asked_for(shop: Shop, task: RecordingTask) -> None:
    with shop_scope(shop), pytest.raises(NotRegistered):
        queue.enqueue("test.nonsense")


def test_cancelled_job_is_not_started(shop: Shop, task: RecordingTask) -> None:
    job = enqueue_job(shop)

    with shop_scope(shop):
        assert queue.cancel_job(job)

    assert (queue.run_job(job.key), task.calls) == (False, [])


def test_failure_that_no_database_can_write_down_is_parked(
    shop: Shop, task: RecordingTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Like the database, pytest-xdist cannot handle a message with a lone surrogate.
    monkeypatch.setattr(queue.logger, "disabled", True)
    task.errors.append(queue.GiveUp("no \0 such \ud800 file"))
    job = enqueue_job(shop)

    queue.run_job(job.key)

    failed = reload_job(shop, job)
    assert (failed.state, failed.error) == (Job.State.FAILED, "no  such ? file")
    assert task.given_up == [job.pk]


def test_a_failing_failure_handler_is_recorded(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Mock(side_effect=queue.GiveUp("no such file"))

    def give_up(job: Job) -> None:
        Job.objects.filter(pk=job.pk).update(progress_done=7)
        raise KeyError("theme")

    monkeypatch.setitem(queue.tasks, "test.task", queue.Task(run, on_give_up=give_up))
    job = enqueue_job(shop)

    assert queue.run_job(job.key)
    parked = reload_job(shop, job)
    assert (parked.state, parked.error) == (Job.State.FAILED, "no such file (and then: 'theme')")
    assert (parked.lease, parked.progress_done) == (None, 0)
    assert not queue.run_job(job.key)


@pytest.mark.parametrize("hours", [-1, 1], ids=["an hour slow", "an hour fast"])
def test_clock_of_a_machine_that_is_wrong_changes_nothing(
    shop: Shop, task: RecordingTask, time_machine: TimeMachineFixture, hours: int
) -> None:
    now = timezone.now()
    first_run, later = enqueue_job(shop), enqueue_job(shop, due_at=now + timedelta(minutes=20))
    until = now + timedelta(seconds=30)
    update_job(shop, first_run, state=Job.State.RUNNING, lease=uuid.uuid4(), lease_until=until)
    time_machine.move_to(now + timedelta(hours=hours))
    new_job = enqueue_job(shop)

    assert [queue.run_job(job.key) for job in (first_run, later, new_job)] == [False, False, True]
    assert publishing.send_due_jobs() == 0


def test_a_broker_that_is_away_delays_no_writer_and_loses_no_job(
    shop: Shop, task: RecordingTask, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    sent: list[str] = []
    with monkeypatch.context() as patched, django_capture_on_commit_callbacks(execute=True):
        patched.setattr(publishing, "send_task", Mock(side_effect=ConnectionError("no broker")))
        job = enqueue_job(shop)
    monkeypatch.setattr(publishing, "send_task", lambda name, *, task_id, **_: sent.append(task_id))

    assert (publishing.send_due_jobs(), sent) == (1, [str(job.key)])


def test_a_message_names_the_task_and_shows_only_numbers(
    shop: Shop, task: RecordingTask, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    messages: list[tuple[str, dict[str, object]]] = []
    monkeypatch.setattr(publishing, "send_task", lambda name, **options: messages.append((name, options)))

    with django_capture_on_commit_callbacks(execute=True):
        job = enqueue_job(shop, order_id=7, email="ada@example.com")

    options = {"queue": "default", "task_id": str(job.key), "kwargs": {"shop_id": shop.pk, "order_id": 7}}
    assert messages == [("test.task", options)]


def test_jobs_with_an_unknown_task_fail_in_the_sweep(
    shop: Shop, task: RecordingTask, notified_jobs: list[uuid.UUID]
) -> None:
    make_waiting_jobs(shop, 1, task="test.gone")
    (known,) = make_waiting_jobs(shop, 1)

    assert publishing.send_due_jobs() == 1
    with shop_scope(shop):
        failed = Job.objects.get(task="test.gone")
    assert notified_jobs == [known]
    assert (failed.state, translate(failed.error)) == (Job.State.FAILED, "Unknown task 'test.gone'")


# The names that release 1.0.0 stores, with the current names.
FORMER_NAMES = {
    "bulk.edit": "bulk_edits.run_edit",
    "bulk.undo": "bulk_edits.undo_edit",
    "customers.erase": "customers.erase_customer",
    "customers.merge": "customers.merge_customers",
    "customers.send_invite": "customers.send_invitation",
    "customers.shred": "customers.clear_erased_text",
    "customers.tell_redact": "customers.publish_redact_webhook",
    "fulfillment.open": "fulfillment.open_fulfillment_order",
    "fulfillment.pull": "fulfillment.poll_service",
    "fulfillment.route": "fulfillment.route_order",
    "fulfillment.shipped": "fulfillment.send_shipping_confirmation",
    "inventory.mark_low": "inventory.mark_low_stock",
    "orders.cancellation": "orders.send_cancellation",
    "orders.check_import": "imports_exports.validate_import",
    "orders.expire_export": "imports_exports.expire_export",
    "orders.export": "imports_exports.write_export",
    "orders.receipt": "orders.send_receipt",
    "orders.run_import": "imports_exports.run_import",
    "refunds.notification": "refunds.send_notification",
    "refunds.payment": "refunds.process_payment",
    "webhooks.recover": "webhooks.replay_deliveries",
    "webhooks.tell_shop_redact": "webhooks.send_shop_redact",
    "webhooks.warn": "webhooks.send_warning",
}
UNCHANGED_NAMES = {"content.extract_theme", "customers.send_welcome", "imports_exports.delete_files"}


def test_jobs_of_release_1_0_0_run_under_their_current_names(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.MAX_JOBS_PER_SHOP = 100
    sent: list[str] = []
    ran: list[str] = []
    monkeypatch.setattr(publishing, "send_task", lambda name, **_: sent.append(name))
    for name in FORMER_NAMES.values():
        monkeypatch.setitem(queue.tasks, name, queue.Task(lambda job, name=name, **_: ran.append(name)))
    keys = [key for name in FORMER_NAMES for key in make_waiting_jobs(shop, 1, task=name)]

    publishing.send_due_jobs()

    assert sent == list(FORMER_NAMES.values())
    assert all(queue.run_job(key) for key in keys)
    assert ran == sent
    assert {former: job_tasks.current_names[former] for former in FORMER_NAMES} == FORMER_NAMES
    assert set(FORMER_NAMES.values()) | UNCHANGED_NAMES <= set(queue.tasks)


def test_names_of_tasks_begin_with_their_app() -> None:
    labels = {config.label for config in apps.get_app_configs()}
    names = [name for name in (*queue.tasks, *periodic_tasks) if not name.startswith("test.")]

    assert [name for name in names if name.partition(".")[0] not in labels] == []
    assert set(queue.tasks).isdisjoint(periodic_tasks)


def test_names_in_calls_of_enqueue_are_declared() -> None:
    """Check string literals in the code. Other calls use constants that ``tasks.py`` uses, too."""
    sources = (settings.BASE_DIR / "apps").rglob("*.py")
    names = {name for source in sources for name in re.findall(r'enqueue(?:_many)?\(\s*"([^"]+)"', source.read_text())}

    assert len(names) > 3
    assert sorted(names - set(queue.tasks)) == []
