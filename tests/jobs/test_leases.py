"""See check F9 in docs/reliability.md."""

import threading
import time
import uuid
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection, connections, transaction
from django.utils import timezone
from pytest_django import Settings

from apps.content.models import ScriptTag
from apps.core.jobs import leases, queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop, shop_scope
from tests.faults.conftest import connect_from_outside
from tests.support import factories
from tests.support.timing import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

Work = Callable[[Job], None]
MakeJob = Callable[[Shop, Work], Job]


@pytest.fixture
def make_job_of(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> MakeJob:
    """Return a function that creates a waiting job which runs the given code with a lease of 3 seconds."""
    settings.JOB_LEASE_SECONDS = 3
    monkeypatch.setattr(leases, "_RETRY_SECONDS", 0.1)

    def make(shop: Shop, work: Work) -> Job:
        monkeypatch.setitem(queue.tasks, "test.work", queue.Task(lambda job, **_: work(job)))
        with shop_scope(shop), transaction.atomic():
            return queue.enqueue("test.work")

    return make


# Connection options with a short lock timeout.
SHORT_LOCK_TIMEOUT: dict[str, object] = {"sqlite": 0.1, "postgresql": "-c lock_timeout=100"}


def hear(key: uuid.UUID, results: list[bool]) -> None:
    """Run a job in a thread, as another worker that received the job's message."""
    results.append(queue.run_job(key))
    connections.close_all()


def hear_twice(job: Job) -> list[bool]:
    """Return the results of two workers that receive the same message at once."""
    results: list[bool] = []
    threads = [threading.Thread(target=hear, args=(job.key, results)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def write_tag() -> None:
    app = factories.make_installation(get_current_shop()).app
    ScriptTag.objects.create(shop=get_current_shop(), app=app, src="https://a.example/late.js")


def get_outcome(shop: Shop, job: Job) -> tuple[str, int]:
    """Return the state of the job and the number of tags."""
    with shop_scope(shop):
        job.refresh_from_db()
        return job.state, ScriptTag.objects.count()


def take_over_job(job: Job) -> None:
    """Replace the job's lease as if another worker had taken over the job."""
    Job.objects.filter(pk=job.pk).update(lease=uuid.uuid4(), lease_until=timezone.now())


@pytest.mark.own_sessions
def test_renewal_goes_on_after_an_error_of_the_database(
    shop: Shop, make_job_of: MakeJob, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Lock the job's row in another connection for longer than the lock timeout of a renewal."""
    taken_twice = []
    options = connection.settings_dict["OPTIONS"]

    def work(job: Job) -> None:
        with connect_from_outside() as other:
            other.execute("BEGIN IMMEDIATE" if connection.vendor == "sqlite" else "BEGIN")
            other.execute(f"UPDATE jobs_job SET task = task WHERE id = {job.pk}")
            time.sleep(1.5)
            other.execute("ROLLBACK")
        # Continue after the end of the first lease.
        time.sleep(1.9)
        taken_twice.append(queue.run_job(job.key))
        write_tag()

    job = make_job_of(shop, work)
    monkeypatch.setitem(
        options, "timeout" if connection.vendor == "sqlite" else "options", SHORT_LOCK_TIMEOUT[connection.vendor]
    )
    queue.run_job(job.key)

    assert "A lease could not be renewed" in caplog.text
    assert taken_twice == [False]
    assert get_outcome(shop, job) == (Job.State.DONE, 1)


def test_task_stops_before_its_next_write_where_another_worker_has_its_job(shop: Shop, make_job_of: MakeJob) -> None:
    def work(job: Job) -> None:
        take_over_job(job)
        wait_until(lambda: leases._active_leases[job.lease].is_lost, bool)
        write_tag()

    job = make_job_of(shop, work)
    queue.run_job(job.key)

    assert get_outcome(shop, job) == (Job.State.RUNNING, 0)


def test_a_frozen_task_writes_nothing(
    shop: Shop, make_job_of: MakeJob, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    """Freeze the worker and its renewal thread. No other worker has taken the job, so the job is retried."""
    settings.JOB_LEASE_SECONDS = 0.9

    def freeze(_: leases.Lease) -> bool:
        time.sleep(0.9)
        return True

    monkeypatch.setattr(leases.Lease, "_renew", freeze)

    def work(job: Job) -> None:
        time.sleep(1)
        with transaction.atomic():
            write_tag()

    job = make_job_of(shop, work)
    queue.run_job(job.key)

    assert get_outcome(shop, job) == (Job.State.WAITING, 0)
    assert "lease expired" in job.error


def test_writes_are_rolled_back_if_the_lease_is_lost_during_the_transaction(shop: Shop, make_job_of: MakeJob) -> None:
    def work(job: Job) -> None:
        with transaction.atomic():
            write_tag()
            with transaction.atomic():
                leases._active_leases[job.lease]._is_lost = True
                write_tag()

    job = make_job_of(shop, work)
    queue.run_job(job.key)

    assert get_outcome(shop, job) == (Job.State.WAITING, 0)


@pytest.mark.parametrize("learn", [queue.lock_lease, lambda job: queue.report_progress(job, completed=1, total=2)])
def test_progress_and_hold_belong_to_the_lease(shop: Shop, make_job_of: MakeJob, learn: Work) -> None:
    learnt: list[Exception] = []

    def work(job: Job) -> None:
        learn(job)
        take_over_job(job)
        with pytest.raises(queue.LeaseLost) as caught:
            learn(job)
        learnt.append(caught.value)
        raise caught.value

    job = make_job_of(shop, work)
    queue.run_job(job.key)

    assert len(learnt) == 1
    assert get_outcome(shop, job) == (Job.State.RUNNING, 0)
    assert job.progress_done in {0, 1}


@pytest.mark.postgres
@pytest.mark.race(control="test_another_worker_takes_the_job_without_the_lock")
def test_a_locked_job_is_not_taken_by_others_before_the_commit(shop: Shop, make_job_of: MakeJob) -> None:
    takeovers: list[bool] = []

    def work(job: Job) -> None:
        with transaction.atomic():
            queue.lock_lease(job)
            Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() - timedelta(minutes=1))
            thread = threading.Thread(target=hear, args=(job.key, takeovers))
            thread.start()
            time.sleep(0.5)
            assert takeovers == []
            queue.lock_lease(job)
        thread.join()

    queue.run_job(make_job_of(shop, work).key)

    assert takeovers == [False]


@pytest.mark.postgres
def test_another_worker_takes_the_job_without_the_lock(shop: Shop, make_job_of: MakeJob) -> None:
    """Show what goes wrong without a lock on the lease: another worker takes over the expired lease."""
    takeovers: list[bool] = []

    def work(job: Job) -> None:
        if takeovers:
            return
        Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() - timedelta(minutes=1))
        takeovers.append(False)
        with transaction.atomic():
            thread = threading.Thread(target=hear, args=(job.key, takeovers))
            thread.start()
            thread.join()

    queue.run_job(make_job_of(shop, work).key)

    assert takeovers == [False, True]


@pytest.mark.race(control="test_an_unlocked_lease_is_taken_twice")
def test_duplicate_and_late_messages_run_the_job_once(shop: Shop, make_job_of: MakeJob) -> None:
    runs: list[int] = []

    def work(job: Job) -> None:
        time.sleep(0.3)
        runs.append(job.pk)

    job = make_job_of(shop, work)
    results = [*hear_twice(job), queue.run_job(job.key)]

    assert (sorted(results), runs) == ([False, False, True], [job.pk])


def test_an_unlocked_lease_is_taken_twice(shop: Shop, make_job_of: MakeJob, monkeypatch: pytest.MonkeyPatch) -> None:
    """Show what goes wrong without the lock: both workers check that the job is waiting before one takes the lease."""
    both_looked = threading.Barrier(2)

    def take(key: uuid.UUID) -> leases.Lease:
        row = Job.objects.filter(key=key)
        assert row.get().state == Job.State.WAITING
        both_looked.wait(30)
        token = uuid.uuid4()
        row.update(state=Job.State.RUNNING, lease=token, lease_until=timezone.now() + timedelta(minutes=1))
        return leases.Lease(token, lambda: row.filter(lease=token))

    monkeypatch.setattr(leases, "acquire_lease", take)

    assert hear_twice(make_job_of(shop, lambda _: None)) == [True, True]
