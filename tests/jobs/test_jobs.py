"""Tests for jobs: creation in a transaction, single execution, retries, failure and the sweep."""

import uuid
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

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


@dataclass
class RecordingTask:
    """A task that records its calls and its given-up jobs. It raises the first error, if there is one."""

    calls: list[tuple[int, dict[str, object]]] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)
    given_up: list[int] = field(default_factory=list)


@pytest.fixture
def task(monkeypatch: pytest.MonkeyPatch) -> RecordingTask:
    """Register a task ``test.task`` that records its calls."""
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
    with shop_scope(shop):
        Job.objects.filter(pk=job.pk).update(
            due_at=F("due_at") - passed, lease_until=F("lease_until") - passed, rung_at=F("rung_at") - passed
        )


def reload_job(shop: Shop, job: Job) -> Job:
    with shop_scope(shop):
        return Job.objects.get(pk=job.pk)


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


def test_job_is_done_in_its_shop_and_only_once(shop: Shop, task: RecordingTask, notified_jobs: list[uuid.UUID]) -> None:
    job = enqueue_job(shop, thing=7)

    results = [queue.run_job(job.key), queue.run_job(job.key)]

    assert results == [True, False]
    assert task.calls == [(shop.pk, {"thing": 7})]
    assert reload_job(shop, job).state == Job.State.DONE


def test_failed_job_waits_and_is_tried_again(shop: Shop, task: RecordingTask, notified_jobs: list[uuid.UUID]) -> None:
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


def test_a_failing_job_is_parked(shop: Shop, task: RecordingTask, notified_jobs: list[uuid.UUID]) -> None:
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


def test_failed_jobs_are_retried_on_request(shop: Shop, task: RecordingTask, notified_jobs: list[uuid.UUID]) -> None:
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


def test_sweep_replaces_lost_messages(shop: Shop, task: RecordingTask, notified_jobs: list[uuid.UUID]) -> None:
    job = enqueue_job(shop)

    early = queue.notify_stale_jobs()
    advance_job(shop, job, 20)
    stale_keys = queue.notify_stale_jobs()

    assert (early, stale_keys) == (0, 1)
    assert notified_jobs[-1] == job.key


def test_sweeps_notify_once_for_each_job(shop: Shop, task: RecordingTask, notified_jobs: list[uuid.UUID]) -> None:
    with shop_scope(shop):
        Job.objects.bulk_create(
            [Job(shop=shop, task="test.task", due_at=timezone.now() - timedelta(minutes=1)) for _ in range(1200)]
        )

    rung_for = [queue.notify_stale_jobs() for _ in range(3)]

    assert rung_for == [1200, 0, 0]
    assert len(notified_jobs) == len(set(notified_jobs)) == 1200


def test_sweep_rings_again_after_a_minute(shop: Shop, task: RecordingTask, notified_jobs: list[uuid.UUID]) -> None:
    job = enqueue_job(shop)
    advance_job(shop, job, 20)
    queue.notify_stale_jobs()

    soon = queue.notify_stale_jobs()
    advance_job(shop, job, 61)
    later = queue.notify_stale_jobs()

    assert (soon, later) == (0, 1)


def test_sweep_rings_later_for_what_an_absent_broker_did_not_hear(
    shop: Shop, task: RecordingTask, notified_jobs: list[uuid.UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        advance_job(shop, enqueue_job(shop), 20)

    def absent(key: uuid.UUID) -> None:
        if len(keys) == 1:
            raise ConnectionError("no broker")
        keys.append(key)

    keys: list[uuid.UUID] = []
    monkeypatch.setattr(queue, "notifiers", {"test": absent})
    with_failure = queue.notify_stale_jobs()
    monkeypatch.setattr(queue, "notifiers", {"test": keys.append})
    back = queue.notify_stale_jobs()

    assert (with_failure, back, len(set(keys))) == (1, 2, 3)


def test_lease_of_a_dead_worker_runs_out(shop: Shop, task: RecordingTask, notified_jobs: list[uuid.UUID]) -> None:
    job = enqueue_job(shop)
    with shop_scope(shop):
        Job.objects.filter(pk=job.pk).update(
            state=Job.State.RUNNING, attempts=1, lease=uuid.uuid4(), lease_until=timezone.now() + timedelta(seconds=30)
        )

    first_run = queue.run_job(job.key)
    advance_job(shop, job, 31)
    assert queue.notify_stale_jobs() == 1
    second_run = queue.run_job(job.key)

    assert (first_run, second_run) == (False, True)
    assert reload_job(shop, job).attempts == 2


def test_job_that_kills_workers_is_parked(shop: Shop, task: RecordingTask, notified_jobs: list[uuid.UUID]) -> None:
    job = enqueue_job(shop)
    with shop_scope(shop):
        Job.objects.filter(pk=job.pk).update(
            state=Job.State.RUNNING, attempts=queue.MAX_ATTEMPTS, lease_until=timezone.now() - timedelta(seconds=1)
        )

    queue.run_job(job.key)

    assert reload_job(shop, job).state == Job.State.FAILED
    assert task.calls == []


def test_outcome_of_a_worker_that_lost_its_lease_is_not_written(
    shop: Shop, task: RecordingTask, notified_jobs: list[uuid.UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = enqueue_job(shop)
    other = uuid.uuid4()

    def lose_lease(job: Job, **_: object) -> None:
        Job.objects.filter(pk=job.pk).update(lease=other)
        raise ValueError("late")

    monkeypatch.setitem(queue.tasks, "test.task", queue.Task(lose_lease))
    queue.run_job(job.key)

    assert (reload_job(shop, job).state, reload_job(shop, job).lease) == (Job.State.RUNNING, other)


def test_unknown_task_is_refused_when_asked_for(shop: Shop, task: RecordingTask) -> None:
    with shop_scope(shop), pytest.raises(NotRegistered):
        queue.enqueue("test.nonsense")


def test_cancelled_job_is_not_started(shop: Shop, task: RecordingTask, notified_jobs: list[uuid.UUID]) -> None:
    job = enqueue_job(shop)

    with shop_scope(shop):
        assert queue.cancel_job(job)

    assert not queue.run_job(job.key)
    assert task.calls == []


def test_failure_that_no_database_can_write_down_is_parked(
    shop: Shop, task: RecordingTask, notified_jobs: list[uuid.UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Like the database, pytest-xdist cannot handle a message with a lone surrogate.
    monkeypatch.setattr(queue.logger, "disabled", True)
    task.errors.append(queue.GiveUp("no \0 such \ud800 file"))
    job = enqueue_job(shop)

    queue.run_job(job.key)

    assert reload_job(shop, job).state == Job.State.FAILED
    assert reload_job(shop, job).error == "no  such ? file"
    assert task.given_up == [job.pk]


def test_a_failing_failure_handler_is_recorded(
    shop: Shop, notified_jobs: list[uuid.UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(job: Job, **_: object) -> None:
        raise queue.GiveUp("no such file")

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
    shop: Shop, task: RecordingTask, notified_jobs: list[uuid.UUID], time_machine: TimeMachineFixture, hours: int
) -> None:
    now = timezone.now()
    first_run, later = enqueue_job(shop), enqueue_job(shop, due_at=now + timedelta(minutes=20))
    with shop_scope(shop):
        Job.objects.filter(pk=first_run.pk).update(
            state=Job.State.RUNNING, lease=uuid.uuid4(), lease_until=now + timedelta(seconds=30)
        )
    time_machine.move_to(now + timedelta(hours=hours))
    new_job = enqueue_job(shop)

    assert [queue.run_job(job.key) for job in (first_run, later, new_job)] == [False, False, True]
    assert queue.notify_stale_jobs() == 0
