"""Import leases, which ensure that only one worker or command processes an import at a time.

The lease is a token in the row of the import. Each transaction that imports rows also updates the lease, so a worker
that lost its lease can't write anything, no matter how late it continues.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from apps.exchange.models import Import
from apps.ground.exceptions import DomainError

# A killed worker blocks other workers for this long.
LEASE = timedelta(seconds=60)


class ImportBusy(DomainError):
    """Raised when another worker is processing the file."""

    code = "import_busy"


class ImportLeaseLost(Exception):
    """Raised when another worker has taken over the import."""


@dataclass(frozen=True, slots=True)
class ImportLease:
    """The lease that a worker holds on an import."""

    import_id: int
    token: uuid.UUID

    def extend(self, *, done_rows: int, **values: object) -> None:
        """Extend the lease and save the progress. The row of the import stays locked until the transaction ends.

        Raises:
            ImportLeaseLost: If another worker has taken over.
        """
        own_row = Import.objects.filter(pk=self.import_id, claim=self.token)
        if not own_row.update(claimed_until=Now() + LEASE, done=done_rows, **values):
            raise ImportLeaseLost(f"Another worker has taken over import {self.import_id}")


@contextmanager
def acquire_lease(import_job: Import, state: Import.State) -> Iterator[ImportLease]:
    """Acquire the lease of an import in the given state, and release the lease on exit.

    Raises:
        ImportBusy: If another worker has the lease, or the state has changed.
    """
    claim = ImportLease(import_job.pk, uuid.uuid4())
    is_available = Q(claimed_until=None) | Q(claimed_until__lt=Now())
    if not Import.objects.filter(is_available, pk=import_job.pk, state=state).update(
        claim=claim.token, claimed_until=Now() + LEASE
    ):
        raise ImportBusy(_("This file is being processed or was just processed. Try again in a minute."))
    try:
        yield claim
    finally:
        Import.objects.filter(pk=import_job.pk, claim=claim.token).update(claim=None, claimed_until=None)
