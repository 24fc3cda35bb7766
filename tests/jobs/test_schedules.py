"""See checks F12 and F11 in docs/reliability.md."""

import logging
import threading
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from io import StringIO
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import time_machine
from celery.beat import ScheduleEntry
from celery.schedules import maybe_schedule
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from time_machine import TimeMachineFixture

from apps.core.db import prepared_sql
from apps.core.jobs import publishing, queue
from apps.core.jobs.models import Job, PeriodicRun
from apps.core.jobs.periodic_tasks import Every, PeriodicTask, periodic_tasks, run_periodic_task
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from backoffice.celery import app
from tests.jobs.conftest import make_waiting_jobs
from tests.support.databases.races import run_concurrently
from tests.support.periodic import run_periodic_tasks

MINUTE = timedelta(minutes=1)
NIGHT = "jobs.check_consistency"
HOURLY = "jobs.delete_finished_jobs"
app.loader.import_default_modules()


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


@pytest.fixture(autouse=True)
def _declare_task(monkeypatch: pytest.MonkeyPatch) -> None:
    def do_nothing(job: Job) -> None:
        pass

    monkeypatch.setitem(queue.tasks, "test.task", queue.Task(do_nothing))


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

    nights = [noon.replace(hour=3) + timedelta(days=day) for day in range(1, 5)]
    times = [at - night for at, night in zip(ran, nights, strict=True)]
    assert [timedelta() <= time < timedelta(hours=2) for time in times] == [True] * 4
    assert max(times) - min(times) < 5 * MINUTE


@in_zones
@pytest.mark.parametrize("eve", [(2026, 3, 28), (2026, 10, 24), (2028, 2, 28)], ids=["summer", "winter", "leap day"])
def test_housekeeping_runs_each_hour(zone: ZoneInfo, eve: tuple[int, int, int]) -> None:
    with time_machine.travel(datetime(*eve, 12, 30, tzinfo=UTC).astimezone(zone), tick=False) as clock:
        ran = list(ScriptedScheduler(HOURLY, clock).run(36 * 12, by=5 * MINUTE))

    assert len(ran) == 36
    assert {later - sooner for sooner, later in pairwise(ran)} == {timedelta(hours=1)}


@pytest.mark.parametrize("hours", [-1, 1])
@pytest.mark.parametrize("at", [(3, 0), (3, 20), (3, 40)], ids=["before", "just before", "after"])
def test_clock_changes_neither_double_nor_skip_nightly_tasks(hours: int, at: tuple[int, int]) -> None:
    with time_machine.travel(datetime(2026, 5, 4, 2, 30, tzinfo=UTC), tick=False) as clock:
        beat = ScriptedScheduler(NIGHT, clock)
        ran = list(beat.run(at[0] * 60 + at[1] - 150))
        clock.shift(timedelta(hours=hours))
        ran += beat.run(6 * 60)
        clock.shift(timedelta(hours=-hours))
        ran += beat.run(16 * 60)

    assert len(ran) == 1


@pytest.mark.parametrize("hours", [-1, 1])
def test_clock_changes_delay_hourly_tasks_by_at_most_two_hours(hours: int) -> None:
    with time_machine.travel(datetime(2026, 5, 4, 12, tzinfo=UTC), tick=False) as clock:
        beat = ScriptedScheduler(HOURLY, clock)
        before = list(beat.run(90))
        clock.shift(timedelta(hours=hours))
        after = list(beat.run(115))

    assert len(before) == 1
    assert len(after) in {1, 2, 3}


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
@pytest.mark.race(control="test_two_sweeps_send_twice_without_their_condition")
def test_sweeps_of_two_schedulers_ring_once_for_each_job(shop: Shop, notified_jobs: list[uuid.UUID]) -> None:
    make_waiting_jobs(shop, 1200, rung_at=timezone.now() - timedelta(minutes=5))

    swept = run_concurrently(shop, *[publishing.send_due_jobs] * 4)

    assert sum(swept) == len(notified_jobs) == len(set(notified_jobs)) == 1200


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_sweeps_send_twice_without_their_condition(
    shop: Shop, notified_jobs: list[uuid.UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_waiting_jobs(shop, 3)
    both_looked = threading.Barrier(2)
    look = prepared_sql.execute_by_index

    def look_together(sql: str, *arguments: Any, **options: Any) -> Any:
        rows = look(sql, *arguments, **options)
        if sql == publishing._format(publishing._NEXT_JOBS_SQL):
            both_looked.wait(30)
        return rows

    monkeypatch.setattr(publishing, "execute_by_index", look_together)
    monkeypatch.setitem(publishing._CONDITIONS, "not_just_sent", "true")
    publishing._format.cache_clear()
    run_concurrently(shop, *[publishing.send_due_jobs] * 2)
    monkeypatch.undo()
    publishing._format.cache_clear()

    assert (len(notified_jobs), len(set(notified_jobs))) == (6, 3)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(no_guard="what is deleted twice is deleted once")
def test_periodic_tasks_requested_twice_have_one_effect(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    then = timezone.now() - timedelta(days=31)
    make_waiting_jobs(shop, 50, state=Job.State.DONE, created_at=then, finished_at=then)

    with caplog.at_level(logging.INFO):
        run_concurrently(shop, *[partial(run_periodic_tasks, every) for every in (Every.HOUR, Every.NIGHT)] * 2)

    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []
    with shop_scope(shop):
        assert not Job.objects.exists()


@pytest.fixture
def periodic(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[datetime], int]]:
    """Return a list. The periodic task ``test.count`` runs the last function in this list."""
    functions: list[Callable[[datetime], int]] = [lambda at: 3]

    def run_last(at: datetime) -> int:
        return functions[-1](at)

    monkeypatch.setitem(periodic_tasks, "test.count", PeriodicTask(run_last, Every.MINUTE))
    return functions


def get_run() -> PeriodicRun:
    return PeriodicRun.objects.get(name="test.count")


@pytest.mark.django_db
def test_a_run_is_skipped_while_another_run_has_the_lease(periodic: list[Callable[[datetime], int]]) -> None:
    inner: list[int | None] = []

    def run_again(at: datetime) -> int:
        inner.append(run_periodic_task("test.count"))
        return 5

    periodic.append(run_again)

    assert (run_periodic_task("test.count"), inner) == (5, [None])
    run = get_run()
    assert (run.result, run.error, run.lease) == (5, "", None)
    # The lease of a worker that died ends.
    PeriodicRun.objects.update(lease=uuid.uuid4(), lease_until=timezone.now() - timedelta(seconds=1))
    periodic.append(lambda at: 6)
    assert run_periodic_task("test.count") == 6


@pytest.mark.django_db
def test_a_failed_run_is_recorded_and_raised(periodic: list[Callable[[datetime], int]]) -> None:
    run_periodic_task("test.count")

    def fail(at: datetime) -> int:
        raise ValueError("no such shop")

    periodic.append(fail)
    with pytest.raises(ValueError, match="no such shop"):
        run_periodic_task("test.count")

    run = get_run()
    assert (run.result, run.error, run.lease) == (3, "no such shop", None)
    periodic.pop()
    run_periodic_task("test.count")
    assert get_run().error == ""


@pytest.mark.django_db
def test_the_command_lists_and_runs_periodic_tasks(periodic: list[Callable[[datetime], int]]) -> None:
    out = StringIO()
    call_command("periodic", "--run", "shops.expire_purchases", stdout=out)
    call_command("periodic", stdout=out)

    lines = {line.split()[0]: line for line in out.getvalue().splitlines() if line}
    assert set(lines) >= set(periodic_tasks) - {"test.count"}
    assert "ok: 0" in lines["shops.expire_purchases"]
    assert "never" in lines["jobs.check_consistency"]
    with pytest.raises(CommandError, match=r"no periodic task 'shops\.nothing'"):
        call_command("periodic", "--run", "shops.nothing")


# The number of statements per minute that an idle installation may need: the rest of 60 is for webhooks and heartbeats.
IDLE_STATEMENTS = 38


@pytest.mark.django_db(transaction=True)
def test_an_idle_installation_needs_few_statements() -> None:
    for every in (Every.SWEEP, Every.MINUTE):
        run_periodic_tasks(every)

    with CaptureQueriesContext(connection) as statements:
        for _ in range(60 // settings.JOB_SWEEP_SECONDS):
            run_periodic_tasks(Every.SWEEP)
        run_periodic_tasks(Every.MINUTE)

    assert len(statements) <= IDLE_STATEMENTS, [statement["sql"] for statement in statements]


@pytest.mark.parametrize(("name", "at", "away"), [("jobs.send_due_jobs", 12, 1), (HOURLY, 12, 5), (NIGHT, 3, 1)])
def test_a_scheduler_that_was_away_asks_once_and_at_once(name: str, at: int, away: int) -> None:
    with time_machine.travel(datetime(2026, 5, 4, at, tzinfo=UTC), tick=False) as clock:
        beat = ScriptedScheduler(name, clock)
        clock.shift(timedelta(hours=away))
        late = list(beat.run(1, by=timedelta(seconds=1)))
        repeated = list(beat.run(5, by=timedelta(seconds=1)))

    assert (len(late), len(repeated)) == (1, 0)
