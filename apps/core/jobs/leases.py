"""Job leases, which ensure that only one worker at a time runs a job.

A separate thread renews the lease while the task runs. If the lease expires or another worker has acquired the job, the
task stops at the next database statement with ``LeaseLost``. A lease that is lost between the last statement and the
commit is not detected. Therefore a task that must not overlap with another run calls ``lock_lease`` in the same
transaction as its writes.
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
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from apps.core.jobs.models import Job
from apps.core.models import TimestampedQuerySet
from apps.core.tenancy.read_only import writable_shops
from apps.core.tenancy.scope import all_shops_scope

logger = logging.getLogger(__name__)

# Seconds between a failed renewal and the next attempt.
_RETRY_SECONDS = 1


class LeaseLost(Exception):
    """Raised when another worker may have acquired the job, so the current run must stop writing."""

    def __init__(self) -> None:
        super().__init__("The lease expired before the work was done")


def acquire_lease(key: uuid.UUID) -> "Lease | None":
    """Acquire the lease of a job, or return None if the job is not due or another worker has a valid lease.

    Call this function in the all-shops scope.
    """
    token: uuid.UUID = uuid6.uuid7()
    is_acquired = (
        Job.objects.filter(key=key)
        .filter(
            Q(state=Job.State.WAITING, due_at__lte=Now()) | Q(state=Job.State.RUNNING, lease_until__lt=Now()),
            writable_shops(),
        )
        .update(state=Job.State.RUNNING, lease=token, lease_until=get_lease_end())
    )
    return Lease(token, lambda: Job.objects.get_queryset().filter(key=key, lease=token)) if is_acquired else None


def lock_lease(job: Job) -> None:
    """Extend the lease and lock the job's row until the transaction ends, or raise ``LeaseLost``."""
    started = time.monotonic()
    if not _get_leased_row(job).update(lease_until=get_lease_end() if job.lease else None):
        raise LeaseLost
    if job.lease in _active_leases:
        _active_leases[job.lease].record_renewal(started)


def report_progress(job: Job, *, completed: int, total: int) -> None:
    """Store the progress of a job, or raise ``LeaseLost``."""
    if not _get_leased_row(job).update(progress_done=completed, progress_total=total):
        raise LeaseLost


class Lease:
    """One worker's right to do the work of a row. While the lease is valid, the row contains ``token``."""

    def __init__(self, token: uuid.UUID, get_row: Callable[[], QuerySet[Any]]) -> None:
        """Create the lease of a row. ``get_row`` returns a queryset that is empty once the row has another token."""
        self.token, self.get_row = token, get_row
        self._is_lost = False
        self.record_renewal(time.monotonic())

    def record_renewal(self, at: float) -> None:
        """Record a renewal. ``at`` is the monotonic time before the query that renewed the lease."""
        self._until = at + settings.JOB_LEASE_SECONDS

    @property
    def is_lost(self) -> bool:
        return self._is_lost or time.monotonic() > self._until

    @contextmanager
    def keep_renewed(self, name: str) -> Iterator[None]:
        """Renew the lease while the block runs. If it is lost, the next statement of the block raises ``LeaseLost``."""
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
        # Allow rollbacks after the lease is lost, so that ``atomic`` blocks can still roll back to their savepoints.
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
        """Renew the lease. Return False after a database error, so that the caller tries again."""
        started = time.monotonic()
        try:
            with all_shops_scope():
                renewed = self.get_row().update(lease_until=get_lease_end())
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
    """Return a queryset with the job's row. It is empty if the lease has changed since the job was read."""
    return Job.objects.get_queryset().filter(pk=job.pk, lease=job.lease)


def get_lease_end() -> Any:
    """Return the end of a lease that begins now, according to the database clock."""
    return Now() + timedelta(seconds=settings.JOB_LEASE_SECONDS)
