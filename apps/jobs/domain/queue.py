"""Asking for background work, and doing it.

``enqueue`` writes the job in the caller's transaction and rings the broker after the commit. ``run`` does one job:
it takes a lease, calls the task, and notes the outcome. A worker that dies lets its lease run out, and ``sweep`` rings
again; a task must therefore bear being started twice.

A task is a function ``(job: Job, **arguments) -> None`` that runs inside its shop's scope.
"""

import logging
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

import uuid6
from django.conf import settings
from django.db import close_old_connections, connection, transaction
from django.db.models import Q
from django.utils import timezone

from apps.events.domain.context import cause
from apps.ground.tenancy import current_shop, every_shop, shop_scope
from apps.jobs.models import Job

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 8
BACK_OFF_SECONDS = (5, 30, 120, 600, 1800, 3600, 3600)


class Task(Protocol):
    """What a job does; must bear being run twice."""

    def __call__(self, job: Job, **arguments: Any) -> None:
        """Do it, inside the shop's scope."""


class Doorbell(Protocol):
    """Tells the workers that a job waits; may lose calls."""

    def __call__(self, key: uuid.UUID) -> None:
        """Ring for the job with this key."""


class GiveUp(Exception):
    """Raised by a task whose work cannot succeed, so that it is not tried again."""


class UnknownTask(LookupError):
    """No domain registered the task."""


@dataclass(frozen=True, slots=True)
class _Registered:
    run: Task
    on_give_up: Callable[[Job], None] | None


_tasks: dict[str, _Registered] = {}
_doorbells: list[Doorbell] = []


def register(name: str, run: Task, *, on_give_up: Callable[[Job], None] | None = None) -> None:
    """Add a task; ``on_give_up`` is told, in the failing transaction, that there will be no further attempt."""
    if name in _tasks:
        raise ValueError(f"Task {name!r} is registered twice")
    _tasks[name] = _Registered(run, on_give_up)


def use_doorbell(doorbell: Doorbell) -> None:
    """Say how workers are told of a job; the Celery app does so when it starts."""
    _doorbells[:] = [doorbell]


def enqueue(task: str, *, actor: str = "system", due_at: datetime | None = None, **arguments: Any) -> Job:
    """Ask for work in the current shop after the current transaction commits.

    Args:
        task: A registered task.
        actor: For whom it is done.
        due_at: Not before this moment; now when omitted.
        arguments: JSON values, ids rather than objects.

    Raises:
        UnknownTask: The task is not registered.
    """
    if task not in _tasks:
        raise UnknownTask(task)
    job = Job.objects.create(
        shop=current_shop(), task=task, arguments=arguments, actor=actor, due_at=due_at or timezone.now()
    )
    if due_at is None:
        transaction.on_commit(lambda: _ring(job.key))
    return job


def _ring(key: uuid.UUID) -> None:
    """Ring the broker; where it is away, the sweep finds the job."""
    for doorbell in _doorbells:
        try:
            doorbell(key)
        except Exception:
            logger.warning("The broker did not take job %s; the sweep will.", key, exc_info=True)


def sweep(*, at: datetime) -> int:
    """Ring for every job that is due and held by nobody; returns how many."""
    overdue = at - timedelta(seconds=settings.JOB_SWEEP_SECONDS / 2)
    with every_shop():
        keys = list(
            Job.objects.filter(
                Q(state=Job.State.WAITING, due_at__lte=overdue) | Q(state=Job.State.RUNNING, lease_until__lt=at)
            )
            .order_by("due_at", "id")
            .values_list("key", flat=True)[:1000]
        )
    for key in keys:
        _ring(key)
    return len(keys)


def run(key: uuid.UUID) -> bool:
    """Do a job, unless somebody else holds it; returns whether it was ours to do."""
    lease = uuid6.uuid7()
    now = timezone.now()
    with every_shop():
        taken = (
            Job.objects.filter(key=key)
            .filter(Q(state=Job.State.WAITING, due_at__lte=now) | Q(state=Job.State.RUNNING, lease_until__lt=now))
            .update(state=Job.State.RUNNING, lease=lease, lease_until=_lease_end())
        )
        if not taken:
            return False
        job = Job.objects.select_related("shop").get(key=key)
    with shop_scope(job.shop), cause(request_id=str(job.key)):
        _attempt(job, lease)
    return True


def _attempt(job: Job, lease: uuid.UUID) -> None:
    registered = _tasks.get(job.task)
    # A worker that was killed left its attempt uncounted as a failure; it counts here, so that a job that kills its
    # worker is parked like one that raises.
    Job.objects.filter(pk=job.pk, lease=lease).update(attempts=job.attempts + 1)
    job.attempts += 1
    try:
        if registered is None:
            raise GiveUp(f"No task is called {job.task!r}")
        if job.attempts > MAX_ATTEMPTS:
            raise GiveUp("The worker died during each attempt")
        with _kept_lease(job, lease):
            registered.run(job, **job.arguments)
    except Exception as error:
        final = isinstance(error, GiveUp) or job.attempts >= MAX_ATTEMPTS
        logger.log(logging.ERROR if final else logging.WARNING, "Job %s failed: %s", job, error, exc_info=not final)
        _note_failure(job, lease, error, registered if final else None, final=final)
    else:
        Job.objects.filter(pk=job.pk, lease=lease).update(
            state=Job.State.DONE, finished_at=timezone.now(), lease=None, lease_until=None, error=""
        )


@transaction.atomic
def _note_failure(job: Job, lease: uuid.UUID, error: Exception, registered: _Registered | None, *, final: bool) -> None:
    now = timezone.now()
    wait = BACK_OFF_SECONDS[min(job.attempts, len(BACK_OFF_SECONDS)) - 1]
    noted = Job.objects.filter(pk=job.pk, lease=lease).update(
        state=Job.State.FAILED if final else Job.State.WAITING,
        finished_at=now if final else None,
        due_at=job.due_at if final else now + timedelta(seconds=wait),
        error=str(error)[:2000] or type(error).__name__,
        lease=None,
        lease_until=None,
    )
    if noted and final and registered and registered.on_give_up:
        job.refresh_from_db()
        registered.on_give_up(job)


def report_progress(job: Job, *, done: int, total: int) -> None:
    """Show how far a job has come."""
    Job.objects.filter(pk=job.pk).update(progress_done=done, progress_total=total)


def retry(job: Job) -> bool:
    """Let a failed or cancelled job start over; returns whether it was one."""
    moved = Job.objects.filter(pk=job.pk, state__in=(Job.State.FAILED, Job.State.CANCELLED)).update(
        state=Job.State.WAITING, attempts=0, due_at=timezone.now(), error="", finished_at=None
    )
    if moved:
        transaction.on_commit(lambda: _ring(job.key))
    return bool(moved)


def cancel(job: Job) -> bool:
    """Keep a waiting job from being started; returns whether it was waiting."""
    return bool(
        Job.objects.filter(pk=job.pk, state=Job.State.WAITING).update(
            state=Job.State.CANCELLED, finished_at=timezone.now()
        )
    )


def _lease_end() -> datetime:
    return timezone.now() + timedelta(seconds=settings.JOB_LEASE_SECONDS)


@contextmanager
def _kept_lease(job: Job, lease: uuid.UUID) -> Iterator[None]:
    """Renew the lease from a thread of its own while the work goes on."""
    stop = threading.Event()

    def renew() -> None:
        try:
            while not stop.wait(settings.JOB_LEASE_SECONDS / 3):
                with every_shop():
                    Job.objects.filter(pk=job.pk, lease=lease).update(lease_until=_lease_end())
                close_old_connections()
        finally:
            connection.close()

    keeper = threading.Thread(target=renew, name=f"lease of {job}", daemon=True)
    keeper.start()
    try:
        yield
    finally:
        stop.set()
        keeper.join()
