"""Who holds a job: one worker at a time, for as long as it renews its lease.

A lease is renewed from a thread of its own while the task works. Where it could not be renewed in time, or somebody
else has taken the job, the task is stopped at its next statement to the database (``LeaseLost``). Between its last
statement and its commit that cannot be seen; a task that must not overlap with another run calls ``hold`` in the
transaction of its writes.
"""

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import uuid6
from django.conf import settings
from django.db import connection
from django.db.models import Q
from django.db.models.functions import Now

from apps.ground.rows import TimestampedQuerySet
from apps.ground.tenancy import every_shop
from apps.jobs.models import Job
from apps.shops.domain.read_only import writable

logger = logging.getLogger(__name__)

# After a renewal that failed.
_TRY_AGAIN_SECONDS = 1


class LeaseLost(Exception):
    """The job may be another worker's by now; nothing more may be written for it."""

    def __init__(self) -> None:
        """One wording for all of them."""
        super().__init__("The lease ran out before the work was done")


def take(key: uuid.UUID) -> "Lease | None":
    """The lease of a job that is due and held by nobody; None where it is not.

    Call it with every shop in sight.
    """
    lease = Lease(key, uuid6.uuid7())
    taken = (
        Job.objects.filter(key=key)
        .filter(
            Q(state=Job.State.WAITING, due_at__lte=Now()) | Q(state=Job.State.RUNNING, lease_until__lt=Now()),
            writable(),
        )
        .update(state=Job.State.RUNNING, lease=lease.token, lease_until=_end())
    )
    return lease if taken else None


def hold(job: Job) -> None:
    """Make sure that the job is still ours, and stays so until the transaction around this ends.

    Within a transaction nobody else can take the job before its end; the lease begins anew.

    Raises:
        LeaseLost: It is not.
    """
    began = time.monotonic()
    if not _mine(job).update(lease_until=_end() if job.lease else None):
        raise LeaseLost
    if job.lease in _kept:
        _kept[job.lease].renewed(began)


def report_progress(job: Job, *, done: int, total: int) -> None:
    """Show how far a job has come.

    Raises:
        LeaseLost: It is not ours any more.
    """
    if not _mine(job).update(progress_done=done, progress_total=total):
        raise LeaseLost


class Lease:
    """The right to do a job, from the moment it was taken.

    Attributes:
        job: The job's key.
        token: Stands in the job's row for as long as the lease is ours.
    """

    def __init__(self, job: uuid.UUID, token: uuid.UUID) -> None:
        """It lasts from now on."""
        self.job, self.token = job, token
        self._is_lost = False
        self.renewed(time.monotonic())

    def renewed(self, at: float) -> None:
        """Note when it was renewed, on this machine's monotonic clock, taken before the database was asked."""
        self._until = at + settings.JOB_LEASE_SECONDS

    @property
    def is_lost(self) -> bool:
        """Whether somebody else may have the job."""
        return self._is_lost or time.monotonic() > self._until

    def row(self) -> TimestampedQuerySet[Job]:
        """The job's row, as long as the lease stands in it."""
        return Job.objects.get_queryset().filter(key=self.job, lease=self.token)

    @contextmanager
    def kept(self, name: str) -> Iterator[None]:
        """Renew it until the work is done, and stop the work at its next statement where that does not succeed.

        Raises:
            LeaseLost: It was lost meanwhile.
        """
        stop = threading.Event()
        keeper = threading.Thread(target=self._keep, args=(stop,), name=f"lease of {name}", daemon=True)
        _kept[self.token] = self
        keeper.start()
        try:
            with connection.execute_wrapper(self._check):
                yield
        finally:
            stop.set()
            keeper.join()
            del _kept[self.token]

    def _check(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        # What was written in a savepoint must still be taken back.
        if self.is_lost and not sql.startswith("ROLLBACK"):
            raise LeaseLost
        return execute(sql, params, many, context)

    def _keep(self, stop: threading.Event) -> None:
        pause = settings.JOB_LEASE_SECONDS / 3
        try:
            while not (stop.wait(pause) or self.is_lost):
                pause = settings.JOB_LEASE_SECONDS / 3 if self._renew() else _TRY_AGAIN_SECONDS
        finally:
            connection.close()

    def _renew(self) -> bool:
        """Renew it; False where the database did not let us, which the next try may."""
        began = time.monotonic()
        try:
            with every_shop():
                renewed = self.row().update(lease_until=_end())
        except Exception:
            logger.warning("A lease could not be renewed; trying again", exc_info=True)
            connection.close()
            return False
        if renewed:
            self.renewed(began)
        else:
            self._is_lost = True
        return True


_kept: dict[uuid.UUID | None, Lease] = {}


def _mine(job: Job) -> TimestampedQuerySet[Job]:
    """The job's row, as long as its lease has not changed since the job was read."""
    return Job.objects.get_queryset().filter(pk=job.pk, lease=job.lease)


def _end() -> Any:
    """When a lease that begins now ends, by the database's clock."""
    return Now() + timedelta(seconds=settings.JOB_LEASE_SECONDS)
