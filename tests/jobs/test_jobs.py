"""Jobs: written with the change, done once in effect, tried again, given up, swept."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from apps.ground.tenancy import current_shop, shop_scope
from apps.jobs.domain import queue
from apps.jobs.models import Job
from apps.shops.models import Shop


@pytest.fixture
def rung(monkeypatch: pytest.MonkeyPatch) -> list[uuid.UUID]:
    """The keys for which the bell was rung."""
    heard: list[uuid.UUID] = []
    monkeypatch.setattr(queue, "_doorbells", [heard.append])
    return heard


@pytest.fixture
def task(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A task called ``test.task`` that notes its calls and fails while ``calls[0]`` says so."""
    calls: list[Any] = []
    failures: list[Exception] = []

    def run(job: Job, **arguments: Any) -> None:
        calls.append((current_shop().pk, arguments))
        if failures:
            raise failures[0]

    monkeypatch.setattr(queue, "_tasks", {})
    given_up: list[int] = []
    queue.register("test.task", run, on_give_up=lambda job: given_up.append(job.pk))
    return [calls, failures, given_up]


def ask(shop: Shop, **arguments: Any) -> Job:
    with shop_scope(shop), transaction.atomic():
        return queue.enqueue("test.task", actor="app:1", **arguments)


def again(shop: Shop, job: Job) -> Job:
    with shop_scope(shop):
        return Job.objects.get(pk=job.pk)


@pytest.mark.django_db(transaction=True)
def test_bell_rings_after_the_commit_and_not_after_a_rollback(shop: Shop, task: Any, rung: list[uuid.UUID]) -> None:
    with shop_scope(shop):
        with transaction.atomic():
            job = queue.enqueue("test.task")
            assert rung == []
        with transaction.atomic():
            queue.enqueue("test.task")
            transaction.set_rollback(True)
        assert Job.objects.count() == 1

    assert rung == [job.key]


def test_job_is_done_in_its_shop_and_only_once(shop: Shop, task: Any, rung: list[uuid.UUID]) -> None:
    job = ask(shop, thing=7)

    answers = [queue.run(job.key), queue.run(job.key)]

    assert answers == [True, False]
    assert task[0] == [(shop.pk, {"thing": 7})]
    assert again(shop, job).state == Job.State.DONE


def test_failed_job_waits_and_is_tried_again(shop: Shop, task: Any, rung: list[uuid.UUID], time_machine: Any) -> None:
    task[1].append(ValueError("not yet"))
    job = ask(shop)

    queue.run(job.key)
    waiting = again(shop, job)
    at_once = queue.run(job.key)
    task[1].clear()
    time_machine.move_to(waiting.due_at + timedelta(seconds=1))
    later = queue.run(job.key)

    assert (waiting.state, waiting.error, waiting.attempts) == (Job.State.WAITING, "not yet", 1)
    assert (at_once, later) == (False, True)
    assert again(shop, job).state == Job.State.DONE


def test_job_that_always_fails_is_parked_and_others_go_on(
    shop: Shop, task: Any, rung: list[uuid.UUID], time_machine: Any
) -> None:
    task[1].append(ValueError("never"))
    job = ask(shop)

    for _ in range(queue.MAX_ATTEMPTS):
        time_machine.move_to(again(shop, job).due_at + timedelta(seconds=1))
        assert queue.run(job.key)
    parked = again(shop, job)
    task[1].clear()
    other = ask(shop)
    queue.run(other.key)

    assert (parked.state, parked.attempts) == (Job.State.FAILED, queue.MAX_ATTEMPTS)
    assert task[2] == [job.pk]
    assert not queue.run(job.key)
    assert again(shop, other).state == Job.State.DONE


def test_job_that_gives_up_is_not_tried_again_until_somebody_asks(shop: Shop, task: Any, rung: list[uuid.UUID]) -> None:
    task[1].append(queue.GiveUp("no such file"))
    job = ask(shop)
    queue.run(job.key)
    given_up = again(shop, job)
    task[1].clear()

    with shop_scope(shop):
        retried = queue.retry(job)
    queue.run(job.key)

    assert (given_up.state, given_up.error) == (Job.State.FAILED, "no such file")
    assert retried
    assert again(shop, job).state == Job.State.DONE


def test_sweep_rings_for_what_a_lost_message_left_behind(
    shop: Shop, task: Any, rung: list[uuid.UUID], time_machine: Any
) -> None:
    job = ask(shop)
    later = timezone.now() + timedelta(seconds=20)

    early = queue.sweep(at=timezone.now())
    due = queue.sweep(at=later)

    assert (early, due) == (0, 1)
    assert rung[-1] == job.key


def test_lease_of_a_dead_worker_runs_out(shop: Shop, task: Any, rung: list[uuid.UUID], time_machine: Any) -> None:
    job = ask(shop)
    with shop_scope(shop):
        Job.objects.filter(pk=job.pk).update(
            state=Job.State.RUNNING, attempts=1, lease=uuid.uuid4(), lease_until=timezone.now() + timedelta(seconds=30)
        )

    held = queue.run(job.key)
    time_machine.move_to(timezone.now() + timedelta(seconds=31))
    assert queue.sweep(at=timezone.now()) == 1
    taken = queue.run(job.key)

    assert (held, taken) == (False, True)
    assert again(shop, job).attempts == 2


def test_job_that_kills_its_worker_each_time_is_parked(
    shop: Shop, task: Any, rung: list[uuid.UUID], time_machine: Any
) -> None:
    job = ask(shop)
    with shop_scope(shop):
        Job.objects.filter(pk=job.pk).update(
            state=Job.State.RUNNING, attempts=queue.MAX_ATTEMPTS, lease_until=timezone.now() - timedelta(seconds=1)
        )

    queue.run(job.key)

    assert again(shop, job).state == Job.State.FAILED
    assert task[0] == []


def test_outcome_of_a_worker_that_lost_its_lease_is_not_written(
    shop: Shop, task: Any, rung: list[uuid.UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = ask(shop)
    other = uuid.uuid4()

    def stolen(job: Job, **_: Any) -> None:
        Job.objects.filter(pk=job.pk).update(lease=other)
        raise ValueError("late")

    monkeypatch.setattr(queue, "_tasks", {})
    queue.register("test.task", stolen)
    queue.run(job.key)

    assert (again(shop, job).state, again(shop, job).lease) == (Job.State.RUNNING, other)


def test_unknown_task_is_refused_when_asked_for(shop: Shop, task: Any) -> None:
    with shop_scope(shop), pytest.raises(queue.UnknownTask):
        queue.enqueue("test.nonsense")


def test_cancelled_job_is_not_started(shop: Shop, task: Any, rung: list[uuid.UUID]) -> None:
    job = ask(shop)

    with shop_scope(shop):
        assert queue.cancel(job)

    assert not queue.run(job.key)
    assert task[0] == []
