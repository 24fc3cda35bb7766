"""Declare the kinds of background jobs.

An app declares its job tasks in ``tasks.py`` and ``emails.py``. Workers turn each declaration into a Celery task with
the same name (``backoffice.celery``). Web processes only need the declarations, so they do not import Celery.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, TypeVar

from django.conf import settings
from django_stubs_ext import StrOrPromise

from apps.core.jobs.models import Job
from apps.core.registry import Registry

Function = TypeVar("Function", bound=Callable[..., None])


@dataclass(frozen=True, slots=True)
class Task:
    """A kind of background job. Staff see ``title``.

    ``run`` is called with the job and its arguments in the shop's scope. It must be safe to run twice. ``on_give_up``
    is called in the transaction that records the final failure.
    """

    run: Callable[..., None]
    title: StrOrPromise = ""
    on_give_up: Callable[[Job], None] | None = None


# Tasks by name, e.g. ``content.extract_theme``.
tasks = Registry[str, Task]("job tasks")
# The current names of tasks, keyed by the names that earlier releases used.
current_names = Registry[str, str]("former names of job tasks")


def job_task(
    name: str,
    *,
    title: StrOrPromise,
    on_give_up: Callable[[Job], None] | None = None,
    former_names: tuple[str, ...] = (),
) -> Callable[[Function], Function]:
    """Declare a function as the job task ``name``, which is ``<app label>.<verb>_<object>``.

    Jobs with one of the former names also run the function, because processes of an earlier release may still enqueue
    them during an upgrade.
    """

    def declare(run: Function) -> Function:
        tasks.register(name, Task(run, title, on_give_up))
        for former_name in former_names:
            current_names.register(former_name, name)
        return run

    return declare


def find_task(name: str) -> tuple[str, Task | None]:
    """Return the current name of a task, and the task or None if no task has this name."""
    current_name = current_names.get(name, name)
    return current_name, tasks.get(current_name)


def get_all_names(name: str) -> tuple[str, ...]:
    """Return the name of a task and its former names, to look up its jobs."""
    return name, *(former for former, current in current_names.items() if current == name)


def get_task_title(name: str) -> str:
    """Return the task name that staff see, or the internal name if no task has this name."""
    task = find_task(name)[1]
    return str(task.title if task else "") or name


@cache
def get_queue(name: str) -> str:
    """Return the queue of a Celery task (``settings.TASK_ROUTES``)."""
    routes: dict[str, str] = settings.TASK_ROUTES
    return next((queue for pattern, queue in routes.items() if fnmatchcase(name, pattern)), settings.TASK_QUEUES[0])


def describe_arguments(job: Job) -> dict[str, Any]:
    """Return the shop and the numeric arguments of a job for monitoring tools. Other arguments may be personal."""
    return {"shop_id": job.shop_id} | {name: value for name, value in job.arguments.items() if isinstance(value, int)}
