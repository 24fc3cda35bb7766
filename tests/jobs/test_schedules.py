"""See checks F12 and F11 in docs/reliability.md."""

import logging
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import time_machine
from celery.beat import ScheduleEntry
from celery.schedules import maybe_schedule
from django.utils import timezone
from time_machine import TimeMachineFixture

from apps.core.jobs import consistency_checks, queue
from apps.core.jobs.models import Job
from apps.core.jobs.periodic_tasks import hourly_tasks, run_periodic_tasks
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from backoffice.celery import app
from tests.jobs.conftest import make_waiting_jobs
from tests.support.databases.races import run_concurrently, run_unguarded

MINUTE = timedelta(minutes=1)
NIGHT = "check consistency"
HOURLY = "clean up"


class ScriptedScheduler:
    """A Celery scheduler with one entry and a test clock."""

    def __init__(self, name: str, clock: Any) -> None:
        self.clock = clock
        values = app.conf.beat_schedule[name]
        schedule = maybe_schedule(values["schedule"], app=app)
        self.entry = ScheduleEntry(name=name, app=app, schedule=schedule, last_run_at=schedule.now())

    def run(self, minutes: int, *, by: timedelta = MINUTE) -> Iterator[datetime]:
        """Run the scheduler at fixed intervals and yield the times at which the entry was due."""
        for _ in range(minutes):
            self.clock.shift(by)
            if self.entry.is_due().is_due:
                self.entry = next(self.entry)
                yield datetime.now(UTC)


# The time zone of the machine's clock.
in_zones = pytest.mark.parametrize("zone", [*map(ZoneInfo, ("UTC", "Europe/Berlin", "America/New_York"))], ids=str)


@in_zones
@pytest.mark.parametrize(
    "eve",
    [(2026, 3, 27), (2026, 10, 23), (2026, 3, 6), (2026, 10, 30), (2028, 2, 27), (2027, 2, 27), (2026, 12, 30)],
    ids=["summer time", "winter time", "summer time, US", "winter time, US", "leap year", "no leap year", "new year"],
)
def test_nightly_check_runs_once_each_night(zone: ZoneInfo, eve: tuple[int, int, int]) -> None:
    noon = datetime(*eve, 12, tzinfo=UTC)
    with time_machine.travel(noon.astimezone(zone), tick=False) as clock:
        ran = list(ScriptedScheduler(NIGHT, clock).run(4 * 24 * 12, by=5 * MINUTE))

    nights = [noon.replace(hour=3, minute=17) + timedelta(days=day) for day in range(1, 5)]
    assert [timedelta() <= at - night < 5 * MINUTE for at, night in zip(ran, nights, strict=True)] == [True] * 4


@in_zones
@pytest.mark.parametrize("eve", [(2026, 3, 28), (2026, 10, 24), (2028, 2, 28)], ids=["summer", "winter", "leap day"])
def test_housekeeping_runs_each_hour(zone: ZoneInfo, eve: tuple[int, int, int]) -> None:
    with time_machine.travel(datetime(*eve, 12, 30, tzinfo=UTC).astimezone(zone), tick=False) as clock:
        ran = list(ScriptedScheduler(HOURLY, clock).run(36 * 12, by=5 * MINUTE))

    assert len(ran) == 36
    assert {later - sooner for sooner, later in pairwise(ran)} == {timedelta(hours=1)}


@pytest.mark.parametrize("hours", [-1, 1])
@pytest.mark.parametrize("at", [(2, 40), (3, 10), (3, 30)], ids=["before", "just before", "after"])
def test_a_clock_set_by_an_hour_neither_doubles_nor_skips_nightly_tasks(hours: int, at: tuple[int, int]) -> None:
    with time_machine.travel(datetime(2026, 5, 4, 2, 30, tzinfo=UTC), tick=False) as clock:
        beat = ScriptedScheduler(NIGHT, clock)
        ran = list(beat.run(at[0] * 60 + at[1] - 150))
        clock.shift(timedelta(hours=hours))
        ran += beat.run(6 * 60)
        clock.shift(timedelta(hours=-hours))
        ran += beat.run(16 * 60)

    assert len(ran) == 1


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_set_by_an_hour_delays_housekeeping_by_two_hours(hours: int) -> None:
    with time_machine.travel(datetime(2026, 5, 4, 12, tzinfo=UTC), tick=False) as clock:
        beat = ScriptedScheduler(HOURLY, clock)
        before = list(beat.run(90))
        clock.shift(timedelta(hours=hours))
        at_once = list(beat.run(10))
        after = list(beat.run(115))

    assert (len(before), len(at_once)) == (1, 1 if hours > 0 else 0)
    assert len(after) in {1, 2}


@pytest.mark.parametrize("hours", [-1, 0, 1])
@pytest.mark.parametrize("name", sorted(app.conf.beat_schedule))
def test_a_worker_with_a_wrong_clock_runs_its_tasks(name: str, hours: int, time_machine: TimeMachineFixture) -> None:
    now = datetime(2026, 5, 4, 12, tzinfo=UTC)
    time_machine.move_to(now, tick=False)
    entry = app.conf.beat_schedule[name]
    message = app.amqp.as_task_v2("1", entry["task"], expires=entry["options"]["expires"])

    time_machine.move_to(now + timedelta(hours=hours, seconds=5), tick=False)

    assert datetime.fromisoformat(message.headers["expires"]) > datetime.now(UTC)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(control="test_two_sweeps_notify_twice_without_their_locks")
def test_sweeps_of_two_schedulers_ring_once_for_each_job(shop: Shop, notified_jobs: list[uuid.UUID]) -> None:
    make_waiting_jobs(shop, 1200)

    swept = run_concurrently(shop, *[queue.notify_stale_jobs] * 4)

    assert sum(swept) == len(notified_jobs) == len(set(notified_jobs)) == 1200


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_sweeps_notify_twice_without_their_locks(shop: Shop, notified_jobs: list[uuid.UUID]) -> None:
    make_waiting_jobs(shop, 3)

    run_unguarded(shop, queue.notify_stale_jobs, queue.notify_stale_jobs, locks={"jobs_job"})

    assert (len(notified_jobs), len(set(notified_jobs))) == (6, 3)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(no_guard="what is deleted twice is deleted once")
def test_nightly_and_hourly_tasks_requested_twice_have_one_effect(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    make_waiting_jobs(shop, 50, state=Job.State.DONE, finished_at=timezone.now() - timedelta(days=31))

    with caplog.at_level(logging.INFO):
        tasks = (partial(run_periodic_tasks, hourly_tasks), consistency_checks.log_differences)
        run_concurrently(shop, *tasks * 2)

    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []
    with shop_scope(shop):
        assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("name", "at", "away"), [("requeue stale jobs", 12, 1), ("clean up", 12, 5), ("check consistency", 3, 1)]
)
def test_a_scheduler_that_was_away_asks_once_and_at_once(name: str, at: int, away: int) -> None:
    with time_machine.travel(datetime(2026, 5, 4, at, tzinfo=UTC), tick=False) as clock:
        beat = ScriptedScheduler(name, clock)
        clock.shift(timedelta(hours=away))
        late = list(beat.run(1, by=timedelta(seconds=1)))
        repeated = list(beat.run(5, by=timedelta(seconds=1)))

    assert (len(late), len(repeated)) == (1, 0)
