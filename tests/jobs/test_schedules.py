"""Tests that the scheduler runs each entry once per due time, even when clocks change.

See check F12 in docs/reliability.md.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import time_machine
from celery.beat import ScheduleEntry
from celery.schedules import maybe_schedule

from backoffice.celery import app

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


@pytest.fixture(params=["UTC", "Europe/Berlin", "America/New_York"])
def zone(request: pytest.FixtureRequest) -> ZoneInfo:
    """Return a time zone for the machine's clock."""
    return ZoneInfo(request.param)


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


@pytest.mark.parametrize("eve", [(2026, 3, 28), (2026, 10, 24), (2028, 2, 28)], ids=["summer", "winter", "leap day"])
def test_housekeeping_runs_each_hour(zone: ZoneInfo, eve: tuple[int, int, int]) -> None:
    with time_machine.travel(datetime(*eve, 12, 30, tzinfo=UTC).astimezone(zone), tick=False) as clock:
        ran = list(ScriptedScheduler(HOURLY, clock).run(36 * 12, by=5 * MINUTE))

    assert len(ran) == 36
    assert {later - sooner for sooner, later in pairwise(ran)} == {timedelta(hours=1)}


@pytest.mark.parametrize("hours", [-1, 1])
@pytest.mark.parametrize("at", [(2, 40), (3, 10), (3, 30)], ids=["before", "just before", "after"])
def test_clock_that_is_set_by_an_hour_neither_doubles_nor_skips_a_night(hours: int, at: tuple[int, int]) -> None:
    with time_machine.travel(datetime(2026, 5, 4, 2, 30, tzinfo=UTC), tick=False) as clock:
        beat = ScriptedScheduler(NIGHT, clock)
        ran = list(beat.run(at[0] * 60 + at[1] - 150))
        clock.shift(timedelta(hours=hours))
        ran += beat.run(6 * 60)
        clock.shift(timedelta(hours=-hours))
        ran += beat.run(16 * 60)

    assert len(ran) == 1


@pytest.mark.parametrize("hours", [-1, 1])
def test_clock_that_is_set_by_an_hour_delays_housekeeping_by_two_hours_at_most(hours: int) -> None:
    with time_machine.travel(datetime(2026, 5, 4, 12, tzinfo=UTC), tick=False) as clock:
        beat = ScriptedScheduler(HOURLY, clock)
        before = list(beat.run(90))
        clock.shift(timedelta(hours=hours))
        at_once = list(beat.run(10))
        after = list(beat.run(115))

    assert len(before) == 1
    assert len(at_once) == (1 if hours > 0 else 0)
    assert len(after) in {1, 2}


@pytest.mark.parametrize("hours", [-1, 0, 1])
@pytest.mark.parametrize("name", sorted(app.conf.beat_schedule))
def test_worker_whose_clock_is_an_hour_wrong_does_what_the_scheduler_asks(
    name: str, hours: int, time_machine: Any
) -> None:
    now = datetime(2026, 5, 4, 12, tzinfo=UTC)
    time_machine.move_to(now, tick=False)
    entry = app.conf.beat_schedule[name]
    message = app.amqp.as_task_v2("1", entry["task"], expires=entry["options"]["expires"])

    time_machine.move_to(now + timedelta(hours=hours, seconds=5), tick=False)

    assert datetime.fromisoformat(message.headers["expires"]) > datetime.now(UTC)
