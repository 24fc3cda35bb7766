"""Who works on an import: one at a time, the worker or the command, and nobody after having lost it to another.

The claim is a token on the import's row. Rows of the file are taken in together with an update of that token, in one
transaction; so whoever was taken for dead and lost the claim cannot write anything more, however late it wakes up.
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
from apps.ground.errors import DomainError

# How long somebody who was killed keeps others waiting.
LEASE = timedelta(seconds=60)


class Busy(DomainError):
    """Somebody else works on the file."""

    code = "import_busy"


class ClaimLost(Exception):
    """Somebody else has taken the work over."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to work on an import."""

    import_id: int
    token: uuid.UUID

    def hold(self, *, done: int, **found: object) -> None:
        """Keep it, and note how many rows are done and what was found; in a transaction it is held until that ends.

        Raises:
            ClaimLost: It is somebody else's by now.
        """
        mine = Import.objects.filter(pk=self.import_id, claim=self.token)
        if not mine.update(claimed_until=Now() + LEASE, done=done, **found):
            raise ClaimLost(f"Somebody else has taken over import {self.import_id}")


@contextmanager
def claimed(kept: Import, state: Import.State) -> Iterator[Claim]:
    """Work on an import that is in this state.

    Raises:
        Busy: Somebody else does, or it is in another state by now.
    """
    claim = Claim(kept.pk, uuid.uuid4())
    free = Q(claimed_until=None) | Q(claimed_until__lt=Now())
    if not Import.objects.filter(free, pk=kept.pk, state=state).update(claim=claim.token, claimed_until=Now() + LEASE):
        raise Busy(_("Somebody else is working on this file, or has just finished it; look again in a minute"))
    try:
        yield claim
    finally:
        Import.objects.filter(pk=kept.pk, claim=claim.token).update(claim=None, claimed_until=None)
