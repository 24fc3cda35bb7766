"""``manage.py periodic``: list the periodic tasks with their last and next runs, or run one of them now."""

from argparse import ArgumentParser
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError
from django.utils import timezone
from django.utils.module_loading import import_string

from apps.core.jobs.models import PeriodicRun
from apps.core.jobs.periodic_tasks import Every, periodic_tasks, run_periodic_task

_HEAD = ("task", "runs every", "last run", "seconds", "result", "next run")


class Command(BaseCommand):
    help = "List the periodic tasks with their last and next runs, or run one of them now."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--run", metavar="NAME", help="Run the task NAME now.")

    def handle(self, *_: Any, **options: Any) -> None:
        if options["run"]:
            self._run(options["run"])
        else:
            self._list()

    def _run(self, name: str) -> None:
        if name not in periodic_tasks:
            raise CommandError(f"There is no periodic task {name!r}. 'manage.py periodic' lists them.")
        result = run_periodic_task(name)
        if result is None:
            raise CommandError(f"{name} is running in another process.")
        self.stdout.write(f"{name} ok: {result}")

    def _list(self) -> None:
        app = import_string(settings.CELERY_APP)
        app.loader.import_default_modules()
        runs = {run.name: run for run in PeriodicRun.objects.all()}
        rows = [
            (name, _describe_interval(every), *_describe_run(runs.get(name), app.conf.beat_schedule[name]))
            for every in Every
            for name, task in sorted(periodic_tasks.items())
            if task.every is every
        ]
        widths = [max(map(len, column)) for column in zip(_HEAD, *rows, strict=True)]
        for row in (_HEAD, *rows):
            self.stdout.write("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


def _describe_interval(every: Every) -> str:
    return f"{settings.JOB_SWEEP_SECONDS} seconds" if every is Every.SWEEP else str(every)


def _describe_run(run: PeriodicRun | None, entry: dict[str, Any]) -> tuple[str, str, str, str]:
    """Return the last run, its duration in seconds, its result or error, and the next run, in UTC."""
    now = timezone.now()
    if run is None or run.started_at is None:
        return "never", "", "", _describe_next(entry, now, now)
    is_finished = run.finished_at is not None and run.finished_at >= run.started_at
    seconds = f"{(run.finished_at - run.started_at).total_seconds():.1f}" if is_finished and run.finished_at else ""
    if is_finished:
        result = f"failed: {run.error}" if run.error else f"ok: {run.result}"
    elif run.lease_until and run.lease_until > now:
        result = "running"
    else:
        result = "the worker died"
    return f"{run.started_at:%Y-%m-%d %H:%M:%S}", seconds, result, _describe_next(entry, run.started_at, now)


def _describe_next(entry: dict[str, Any], last: datetime, now: datetime) -> str:
    from celery.schedules import maybe_schedule

    # Round up, because the estimate ends a moment before the full minute.
    remaining = maybe_schedule(entry["schedule"]).remaining_estimate(last) + timedelta(seconds=1)
    return f"{max(now, now + remaining):%Y-%m-%d %H:%M:%S}"
