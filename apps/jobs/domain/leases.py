"""Job leases: one worker at a time has a job, for as long as it renews its lease.

A separate thread renews the lease while the task works. If a renewal fails for too long, or another worker has taken
the job, the task is stopped at its next database statement (``LeaseLost``). This cannot be detected between the last
statement and the commit; a task that must not overlap with another run calls ``lock_lease`` in the transaction of
its writes.
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

from apps.ground.base_models import TimestampedQuerySet
from apps.ground.tenancy import all_shops_scope
from apps.jobs.models import Job
from apps.shops.domain.read_only import writable_shops

logger = logging.getLogger(__name__)

# Seconds until the next try after a failed renewal.
_RETRY_SECONDS = 1


class LeaseLost(Exception):
    """Raised when another worker may have the job; this run must stop writing."""

    def __init__(self) -> None:
        super().__init__("The lease expired before the work was done")


def acquire_lease(key: uuid.UUID) -> "Lease | None":
    """Acquire the lease of a job that is due and has no valid lease; return None if there is no such job.

    Call this function in the all-shops scope.
    """
    lease = Lease(key, uuid6.uuid7())
    is_acquired = (
        Job.objects.filter(key=key)
        .filter(
            Q(state=Job.State.WAITING, due_at__lte=Now()) | Q(state=Job.State.RUNNING, lease_until__lt=Now()),
            writable_shops(),
        )
        .update(state=Job.State.RUNNING, lease=lease.token, lease_until=_get_lease_end())
    )
    return lease if is_acquired else None


def lock_lease(job: Job) -> None:
    """Check that the lease is still valid, and extend and lock it until the surrounding transaction ends.

    Raises:
        LeaseLost: The lease is not valid.
    """
    started = time.monotonic()
    if not _get_leased_row(job).update(lease_until=_get_lease_end() if job.lease else None):
        raise LeaseLost
    if job.lease in _active_leases:
        _active_leases[job.lease].record_renewal(started)


def report_progress(job: Job, *, completed: int, total: int) -> None:
    """Store the progress of a job.

    Raises:
        LeaseLost: The lease is not valid.
    """
    if not _get_leased_row(job).update(progress_done=completed, progress_total=total):
        raise LeaseLost


class Lease:
    """The right of one worker to run a job.

    Attributes:
        job: The job's key.
        token: The value in the job's row while the lease is valid.
    """

    def __init__(self, job: uuid.UUID, token: uuid.UUID) -> None:
        """Create a lease that begins now."""
        self.job, self.token = job, token
        self._is_lost = False
        self.record_renewal(time.monotonic())

    def record_renewal(self, at: float) -> None:
        """Record the time of a renewal on this machine's monotonic clock, taken before the query."""
        self._until = at + settings.JOB_LEASE_SECONDS

    @property
    def is_lost(self) -> bool:
        """Return True if another worker may have the job."""
        return self._is_lost or time.monotonic() > self._until

    def get_job_row(self) -> TimestampedQuerySet[Job]:
        """Return a queryset with the job's row, which is empty if the job no longer has this lease."""
        return Job.objects.get_queryset().filter(key=self.job, lease=self.token)

    @contextmanager
    def keep_renewed(self, name: str) -> Iterator[None]:
        """Renew the lease during the work, and stop the work at its next statement if renewing fails.

        Raises:
            LeaseLost: The lease was lost.
        """
        stop = threading.Event()
        renewer = threading.Thread(target=self._renew_until, args=(stop,), name=f"lease of {name}", daemon=True)
        _active_leases[self.token] = self
        renewer.start()
        try:
            with connection.execute_wrapper(self._check):
                yield
        finally:
            stop.set()
            renewer.join()
            del _active_leases[self.token]

    def _check(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        # A rollback to a savepoint must still be possible.
        if self.is_lost and not sql.startswith("ROLLBACK"):
            raise LeaseLost
        return execute(sql, params, many, context)

    def _renew_until(self, stop: threading.Event) -> None:
        pause = settings.JOB_LEASE_SECONDS / 3
        try:
            while not (stop.wait(pause) or self.is_lost):
                pause = settings.JOB_LEASE_SECONDS / 3 if self._renew() else _RETRY_SECONDS
        finally:
            connection.close()

    def _renew(self) -> bool:
        """Renew the lease; return False if the database failed, so that the caller tries again."""
        started = time.monotonic()
        try:
            with all_shops_scope():
                renewed = self.get_job_row().update(lease_until=_get_lease_end())
        except Exception:
            logger.warning("A lease could not be renewed; trying again", exc_info=True)
            connection.close()
            return False
        if renewed:
            self.record_renewal(started)
        else:
            self._is_lost = True
        return True


_active_leases: dict[uuid.UUID | None, Lease] = {}


def _get_leased_row(job: Job) -> TimestampedQuerySet[Job]:
    """Return a queryset with the job's row, which is empty if the lease has changed since the job was read."""
    return Job.objects.get_queryset().filter(pk=job.pk, lease=job.lease)


def _get_lease_end() -> Any:
    """Return the end of a lease that begins now, by the database's clock."""
    return Now() + timedelta(seconds=settings.JOB_LEASE_SECONDS)
