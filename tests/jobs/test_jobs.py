import uuid
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from time_machine import TimeMachineFixture

from apps.core.jobs import queue
from apps.core.jobs.models import Job
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

    early = queue.notify_stale_jobs()
    advance_job(shop, job, 20)
    stale, soon = queue.notify_stale_jobs(), queue.notify_stale_jobs()
    advance_job(shop, job, 61)
    later = queue.notify_stale_jobs()

    assert (early, stale, soon, later) == (0, 1, 0, 1)
    assert notified_jobs[-2:] == [job.key] * 2


def test_sweeps_notify_once_for_each_job(shop: Shop, task: RecordingTask, notified_jobs: list[uuid.UUID]) -> None:
    make_waiting_jobs(shop, 1200)

    assert [queue.notify_stale_jobs() for _ in range(3)] == [1200, 0, 0]
    assert len(notified_jobs) == len(set(notified_jobs)) == 1200


def test_sweep_rings_later_for_what_an_absent_broker_did_not_hear(
    shop: Shop, task: RecordingTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        advance_job(shop, enqueue_job(shop), 20)

    def absent(key: uuid.UUID) -> None:
        if len(keys) == 1:
            raise ConnectionError("no broker")
        keys.append(key)

    keys: list[uuid.UUID] = []
    counts = []
    for notify in (absent, keys.append):
        monkeypatch.setattr(queue, "notifiers", {"test": notify})
        counts.append(queue.notify_stale_jobs())

    assert (counts, len(set(keys))) == ([1, 2], 3)


def test_lease_of_a_dead_worker_runs_out(shop: Shop, task: RecordingTask) -> None:
    job = enqueue_job(shop)
    until = timezone.now() + timedelta(seconds=30)
    update_job(shop, job, state=Job.State.RUNNING, attempts=1, lease=uuid.uuid4(), lease_until=until)

    first_run = queue.run_job(job.key)
    advance_job(shop, job, 31)

    assert (first_run, queue.notify_stale_jobs(), queue.run_job(job.key)) == (False, 1, True)
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
    assert queue.notify_stale_jobs() == 0
