"""Asking for background work, and doing it.

``enqueue`` writes the job in the caller's transaction and rings the broker after the commit. Who hears the bell does
the job whose turn it is (``answer``, ``turns``). ``run`` does one job: it takes a lease (``leases``), calls the task,
and notes the outcome. A worker that dies lets its lease run out, and ``sweep`` rings again; a task must therefore bear
being started twice. What is due, and which lease has run out, is told by the database's clock: the machines' own may
differ.

A task is a function ``(job: Job, **arguments) -> None`` that runs inside its shop's scope.
"""

import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Protocol

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone
from django_stubs_ext import StrOrPromise

from apps.events.domain.context import cause
from apps.ground.tenancy import current_shop, every_shop, shop_scope
from apps.jobs.domain import leases, turns
from apps.jobs.domain.bells import BrokerAway
from apps.jobs.domain.leases import LeaseLost, hold, report_progress
from apps.jobs.models import Job
from apps.shops.domain.read_only import writable
from apps.shops.models import Shop

__all__ = [
    "GiveUp",
    "LeaseLost",
    "UnknownTask",
    "answer",
    "cancel",
    "enqueue",
    "enqueue_many",
    "hold",
    "register",
    "report_progress",
    "retry",
    "run",
    "sweep",
    "title_of",
    "use_doorbell",
    "use_watch",
]

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 8
BACK_OFF_SECONDS = (5, 30, 120, 600, 1800, 3600, 3600)
# After which a job that nobody took is rung for once more: its message may be lost.
RING_AGAIN = timedelta(seconds=60)
_SWEPT_AT_ONCE = 1000
# One message holds no more keys than this.
_RUNG_AT_ONCE = 100
# How often a worker looks anew where others took the job whose turn it was.
_LOOKS = 5


class Task(Protocol):
    """What a job does; must bear being run twice."""

    def __call__(self, job: Job, **arguments: Any) -> None:
        """Do it, inside the shop's scope."""


class Doorbell(Protocol):
    """Tells the workers that jobs wait; may lose calls."""

    def __call__(self, *keys: uuid.UUID) -> None:
        """Ring once for the jobs with these keys; who hears it passes on all but one (``answer``)."""


class GiveUp(Exception):
    """Raised by a task whose work cannot succeed, so that it is not tried again."""


class UnknownTask(LookupError):
    """No domain registered the task."""


@dataclass(frozen=True, slots=True)
class _Registered:
    run: Task
    on_give_up: Callable[[Job], None] | None
    title: StrOrPromise = ""


# Surrounds each attempt at a job.
Watch = Callable[[Job], AbstractContextManager[None]]

_tasks: dict[str, _Registered] = {}
_doorbells: list[Doorbell] = []
_watches: list[Watch] = []


def register(
    name: str, run: Task, title: StrOrPromise = "", *, on_give_up: Callable[[Job], None] | None = None
) -> None:
    """Add a task.

    Args:
        name: What jobs call it, e.g. ``themes.extract``.
        run: Does it.
        title: What people call it.
        on_give_up: Is told, in the failing transaction, that there will be no further attempt.

    Raises:
        ValueError: There is such a task already.
    """
    if name in _tasks:
        raise ValueError(f"Task {name!r} is registered twice")
    _tasks[name] = _Registered(run, on_give_up, title)


def title_of(task: str) -> str:
    """What people call a task; its name where none is registered (any more) under it."""
    return str(_tasks[task].title if task in _tasks else "") or task


def use_doorbell(doorbell: Doorbell) -> None:
    """Say how workers are told of a job; the Celery app does so when it starts."""
    _doorbells[:] = [doorbell]


def use_watch(watch: Watch) -> None:
    """Say what surrounds each attempt that this process makes, and sees what it raises."""
    _watches[:] = [watch]


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
    [job] = _asked(task, [arguments], actor=actor, due_at=due_at)
    return job


def enqueue_many(task: str, each: Sequence[Mapping[str, Any]], *, actor: str = "system") -> list[Job]:
    """Ask for the same work with several arguments, as ``enqueue`` for each; the broker is rung once for them.

    Raises:
        UnknownTask: The task is not registered.
    """
    return _asked(task, each, actor=actor, due_at=None)


def _asked(task: str, each: Sequence[Mapping[str, Any]], *, actor: str, due_at: datetime | None) -> list[Job]:
    if task not in _tasks:
        raise UnknownTask(task)
    shop = current_shop()
    # One row takes the time as it is written; of many, an expression would have the ORM write the statement anew.
    due = due_at or (Now() if len(each) < 2 else _now(shop))
    jobs = [Job(shop=shop, task=task, arguments=dict(arguments), actor=actor, due_at=due) for arguments in each]
    if len(jobs) == 1:
        jobs[0].save(force_insert=True)
    else:
        Job.objects.bulk_create(jobs)
    if due_at is None:
        for job in jobs:
            # The row has the database's time, which needs not be asked for.
            job.due_at = job.created_at
        keys = [job.key for job in jobs]
        for start in range(0, len(keys), _RUNG_AT_ONCE):
            transaction.on_commit(partial(_ring, *keys[start : start + _RUNG_AT_ONCE]))
    return jobs


def _now(shop: Shop) -> datetime:
    """The moment by the database's clock."""
    moment: datetime = Shop.objects.filter(pk=shop.pk).values_list(Now(), flat=True).get()
    return moment


def _ring(*keys: uuid.UUID) -> bool:
    """Ring the broker; where it is away (False), the sweep finds the jobs."""
    for doorbell in _doorbells:
        try:
            doorbell(*keys)
        except BrokerAway:
            return False
        except Exception:
            logger.warning("The broker did not take jobs %s; the sweep will.", ", ".join(map(str, keys)), exc_info=True)
            return False
    return True


def sweep() -> int:
    """Ring for every job that is due and held by nobody, unless it was rung for a moment ago; returns how many."""
    rung = 0
    with every_shop():
        while found := _unrung():
            for place, (_, key) in enumerate(found):
                if not _ring(key):
                    # The broker is away; what it did not hear of is not rung for.
                    Job.objects.filter(pk__in=[pk for pk, _ in found[place:]]).update(rung_at=None)
                    return rung
                rung += 1
    return rung


@transaction.atomic
def _unrung() -> list[tuple[int, uuid.UUID]]:
    """The keys of the next jobs to ring for, by id; they count as rung for, so that no other sweep has them too."""
    overdue = Now() - timedelta(seconds=settings.JOB_SWEEP_SECONDS / 2)
    waits = Q(state=Job.State.WAITING, due_at__lte=overdue)
    lapsed = Q(state=Job.State.RUNNING, lease_until__lt=Now())
    unheard = Q(rung_at=None) | Q(rung_at__lt=Now() - RING_AGAIN)
    found = list(
        Job.objects.filter(
            (waits & (unheard | Q(rung_at__lt=F("due_at")))) | (lapsed & (unheard | Q(rung_at__lt=F("lease_until")))),
            writable(),
        )
        .select_for_update(skip_locked=True)
        .order_by("due_at", "id")
        .values_list("pk", "key")[:_SWEPT_AT_ONCE]
    )
    Job.objects.filter(pk__in=[pk for pk, _ in found]).update(rung_at=Now())
    return found


def answer(key: uuid.UUID, *further: uuid.UUID) -> bool:
    """Answer a bell: do the job whose turn it is, which need not be the one it was rung for; returns whether one was.

    The job of a worker that died has had its turn, and is done where the bell is its own. A bell that was rung for
    several jobs is passed on before work begins, in halves: so all workers hear of them soon, and none waits for this
    one. Where that fails the sweep finds them.
    """
    while further:
        half = len(further) // 2
        _ring(*further[half:])
        further = further[:half]
    with every_shop():
        lapsed = Job.objects.filter(key=key, state=Job.State.RUNNING, lease_until__lt=Now()).exists()
    done = run(key) if lapsed else _take_turn(key)
    if done and settings.JOBS_PER_SHOP and (waits := _turn()):
        # The bells of jobs that had to wait for this one went by.
        _ring(waits)
    return done


def _take_turn(key: uuid.UUID) -> bool:
    for _ in range(_LOOKS):
        turn = _turn()
        if turn is None:
            return False
        if run(turn):
            return True
    # Where many look at the same jobs, nobody looks for ever.
    return run(key)


def _turn() -> uuid.UUID | None:
    with every_shop():
        return turns.next_key()


def run(key: uuid.UUID) -> bool:
    """Do a job, unless somebody else holds it; returns whether it was ours to do."""
    with every_shop():
        lease = leases.take(key)
        if lease is None:
            return False
        job = Job.objects.select_related("shop").get(key=key)
    with shop_scope(job.shop), cause(request_id=str(job.key)):
        _attempt(job, lease)
    return True


def _attempt(job: Job, lease: leases.Lease) -> None:
    registered = _tasks.get(job.task)
    # A worker that was killed left its attempt uncounted as a failure; it counts here, so that a job that kills its
    # worker is parked like one that raises.
    lease.row().update(attempts=job.attempts + 1)
    job.attempts += 1
    try:
        if registered is None:
            raise GiveUp(f"No task is called {job.task!r}")
        if job.attempts > MAX_ATTEMPTS:
            raise GiveUp("The worker died during each attempt")
        with lease.kept(str(job)), ExitStack() as watched:
            for watch in _watches:
                watched.enter_context(watch(job))
            registered.run(job, **job.arguments)
    except Exception as error:
        final = isinstance(error, GiveUp) or job.attempts >= MAX_ATTEMPTS
        logger.log(logging.ERROR if final else logging.WARNING, "Job %s failed: %s", job, error, exc_info=not final)
        _note_failure(job, lease, error, registered.on_give_up if registered and final else None, final=final)
    else:
        lease.row().update(state=Job.State.DONE, finished_at=timezone.now(), lease=None, lease_until=None, error="")


def _note_failure(
    job: Job, lease: leases.Lease, error: Exception, on_give_up: Callable[[Job], None] | None, *, final: bool
) -> None:
    """Write down that an attempt failed, unless the job is another's by now."""
    reason = _reason(error)
    try:
        with transaction.atomic():
            if _park(job, lease, reason, final=final) and on_give_up:
                job.refresh_from_db()
                on_give_up(job)
    except Exception as other:
        if on_give_up is None:
            raise
        logger.exception("Job %s could not say that it gave up", job)
        _park(job, lease, f"{reason} (and then: {_reason(other)})", final=final)


def _park(job: Job, lease: leases.Lease, reason: str, *, final: bool) -> int:
    wait = BACK_OFF_SECONDS[min(job.attempts, len(BACK_OFF_SECONDS)) - 1]
    return lease.row().update(
        state=Job.State.FAILED if final else Job.State.WAITING,
        finished_at=timezone.now() if final else None,
        due_at=F("due_at") if final else Now() + timedelta(seconds=wait),
        error=reason,
        lease=None,
        lease_until=None,
    )


def _reason(error: Exception) -> str:
    """What an error says, as far as every database can keep it."""
    text = str(error).replace("\0", "").encode(errors="replace").decode()
    return text[:2000] or type(error).__name__


def retry(job: Job) -> bool:
    """Let a failed or cancelled job start over; returns whether it was one."""
    moved = Job.objects.filter(pk=job.pk, state__in=(Job.State.FAILED, Job.State.CANCELLED)).update(
        state=Job.State.WAITING, attempts=0, due_at=Now(), rung_at=None, error="", finished_at=None
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
