"""The Celery tasks of job tasks and periodic tasks, and the schedule of the periodic tasks."""

import uuid
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Any

from celery import Celery, Task
from celery.exceptions import Ignore, Retry
from celery.schedules import crontab
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from apps.core.jobs import queue
from apps.core.jobs.job_tasks import get_queue, tasks
from apps.core.jobs.periodic_tasks import Every, periodic_tasks, run_periodic_task
from apps.webhooks.domain.engine.dispatcher import notify

# The clocks of the scheduler and the workers may differ by this many seconds. The scheduler sets the expiry time of a
# message, and the worker checks it. If no worker is running, messages expire after this time.
MAX_CLOCK_DIFFERENCE = 7200
_EXPIRY_SECONDS = {Every.MINUTE: 60, Every.HOUR: 1800, Every.NIGHT: 3600}
_FIRST_HOUR_OF_NIGHT, _MINUTES_OF_NIGHT = 3, 120


class JobTask(Task):
    """The base class of tasks that run jobs. The ID of the task is the key of the job's row.

    The row contains the arguments and is the source of truth. The message only shows monitoring tools the shop and the
    numeric arguments.
    """

    abstract = True
    # The message does not contain the arguments of the function.
    typing = False
    # ``queue`` logs failed attempts.
    throws = (Exception,)

    def __call__(self, **_shown: object) -> None:
        """Attempt the job.

        Raises:
            Ignore: The message is a duplicate or late.
            Retry: The attempt failed. ``publishing.send_due_jobs`` sends the job again when it is due.
            Exception: The attempt failed and was the last one.
        """
        attempt = queue.handle_message(uuid.UUID(self.request.id))
        if attempt is None:
            raise Ignore
        if attempt.error is not None and attempt.retry_at is not None:
            raise Retry(exc=attempt.error, when=attempt.retry_at)
        if attempt.error is not None:
            raise attempt.error


class PeriodicTask(Task):
    """The base class of periodic tasks. The message does not contain the time, which is an argument of the function."""

    abstract = True
    typing = False

    def __call__(self) -> None:
        run_periodic_task(self.name)


def deliver_webhooks() -> None:
    # Only workers load the HTTP client of deliveries, because it is large.
    from apps.webhooks.domain.engine.dispatcher.runner import deliver

    deliver()


def declare_tasks(app: Celery) -> None:
    """Create a Celery task for each job task, each periodic task and the delivery of webhooks, and fill the schedule.

    Raises:
        ImproperlyConfigured: A task route matches no task.
    """
    for name, task in tasks.items():
        app.task(task.run, base=JobTask, name=name, shared=False, lazy=False)
    for name, periodic_task in periodic_tasks.items():
        app.task(periodic_task.run, base=PeriodicTask, name=name, shared=False, lazy=False)
    # The message only asks for a run, so it is not kept until the run has ended.
    app.task(deliver_webhooks, name=notify.DELIVER, acks_late=False, shared=False, lazy=False)
    app.conf.beat_schedule.update(build_schedule())
    for pattern in settings.TASK_ROUTES_OF_OPERATOR:
        if not any(fnmatchcase(name, pattern) for name in app.tasks):
            raise ImproperlyConfigured(f"BACKOFFICE_TASK_ROUTES: no task has a name like {pattern!r}.")


def build_schedule() -> dict[str, dict[str, Any]]:
    """Return the entries of the scheduler. Hourly and nightly tasks are spread evenly over the hour and the night."""
    schedule: dict[str, dict[str, Any]] = {}
    for every in Every:
        names = sorted(name for name, task in periodic_tasks.items() if task.every == every)
        for place, name in enumerate(names):
            expiry = _EXPIRY_SECONDS.get(every, settings.JOB_SWEEP_SECONDS)
            schedule[name] = {
                "task": name,
                "schedule": _get_schedule(every, place / len(names)),
                "options": {"expires": MAX_CLOCK_DIFFERENCE + expiry},
            }
    schedule[notify.DELIVER] = {
        "task": notify.DELIVER,
        "schedule": timedelta(seconds=notify.SCHEDULE_SECONDS),
        "options": {"expires": MAX_CLOCK_DIFFERENCE + notify.SCHEDULE_SECONDS},
    }
    return schedule


def _get_schedule(every: Every, share: float) -> timedelta | crontab:
    if every is Every.SWEEP:
        return timedelta(seconds=settings.JOB_SWEEP_SECONDS)
    if every is Every.MINUTE:
        return timedelta(minutes=1)
    if every is Every.HOUR:
        return crontab(minute=int(share * 60))
    hours, minute = divmod(int(share * _MINUTES_OF_NIGHT), 60)
    return crontab(hour=_FIRST_HOUR_OF_NIGHT + hours, minute=minute)


def route_task(name: str, *_: object, **__: object) -> dict[str, str]:
    """Return the route of a task. Celery calls this function for tasks that are sent without a queue."""
    return {"queue": get_queue(name)}
