"""Tests that two concurrent schedulers run each job once, and that a restarted scheduler catches up.

See check F11 in docs/reliability.md.
"""

import logging
import uuid
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.utils import timezone

from apps.ground.tenancy import shop_scope
from apps.jobs.domain import consistency_checks, housekeeping, queue
from apps.jobs.models import Job
from apps.shops.models import Shop
from tests.jobs.test_schedules import ScriptedScheduler
from tests.races import run_concurrently, run_unguarded


@pytest.fixture
def notified_jobs(monkeypatch: pytest.MonkeyPatch) -> list[uuid.UUID]:
    """Return a list that collects each job key passed to the notifier."""
    keys: list[uuid.UUID] = []
    monkeypatch.setattr(queue, "_notifiers", [keys.append])
    return keys


def make_waiting_jobs(shop: Shop, count: int) -> None:
    due_at = timezone.now() - timedelta(minutes=1)
    with shop_scope(shop):
        Job.objects.bulk_create([Job(shop=shop, task="test.task", due_at=due_at) for _ in range(count)])


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(control="test_without_their_locks_two_sweeps_ring_twice")
def test_sweeps_of_two_schedulers_ring_once_for_each_job(shop: Shop, notified_jobs: list[uuid.UUID]) -> None:
    make_waiting_jobs(shop, 1200)

    swept = run_concurrently(shop, *[queue.notify_stale_jobs] * 4)

    assert sum(swept) == len(notified_jobs) == len(set(notified_jobs)) == 1200


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_without_their_locks_two_sweeps_ring_twice(shop: Shop, notified_jobs: list[uuid.UUID]) -> None:
    make_waiting_jobs(shop, 3)

    run_unguarded(shop, queue.notify_stale_jobs, queue.notify_stale_jobs, locks={"jobs_job"})

    assert (len(notified_jobs), len(set(notified_jobs))) == (6, 3)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(no_guard="what is deleted twice is deleted once")
def test_nightly_and_hourly_work_asked_for_twice_at_once_is_done_once_in_effect(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    make_waiting_jobs(shop, 50)
    with shop_scope(shop):
        Job.objects.update(state=Job.State.DONE, finished_at=timezone.now() - timedelta(days=31))

    with caplog.at_level(logging.INFO):
        run_concurrently(shop, *[housekeeping.run_hourly_tasks] * 2, *[consistency_checks.log_differences] * 2)

    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []
    with shop_scope(shop):
        assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("name", "at", "away"),
    [
        ("requeue stale jobs", datetime(2026, 5, 4, 12, tzinfo=UTC), timedelta(hours=1)),
        ("clean up", datetime(2026, 5, 4, 12, tzinfo=UTC), timedelta(hours=5)),
        ("check consistency", datetime(2026, 5, 4, 3, 0, tzinfo=UTC), timedelta(hours=1)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_scheduler_that_was_away_asks_once_and_at_once(name: str, at: datetime, away: timedelta) -> None:
    with time_machine.travel(at, tick=False) as clock:
        beat = ScriptedScheduler(name, clock)
        clock.shift(away)
        late = list(beat.run(1, by=timedelta(seconds=1)))
        repeated = list(beat.run(5, by=timedelta(seconds=1)))

    assert (len(late), len(repeated)) == (1, 0)
