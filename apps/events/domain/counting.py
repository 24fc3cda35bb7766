"""Counts of events, of which a shop has millions: no event is changed or deleted, so what was counted stays true.

A count is kept in the cache, with the id up to which it was made; the next one adds the events after it. Ids are given
before their transactions end, and so only events count as settled that are older than any transaction.
"""

import hashlib
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from apps.events.models import Event
from apps.ground.caching import cached
from apps.ground.tenancy import current_shop

SETTLED = timedelta(hours=1)
KEPT_SECONDS = 3600


def count(rows: QuerySet[Event]) -> int:
    """How many events of the current shop there are; ``rows`` are filtered by what never changes of an event."""
    named = hashlib.sha256(str(rows.query).encode()).hexdigest()
    kept = cached(f"events.count:{current_shop().pk}:{named}", lambda: _settled(rows), KEPT_SECONDS)
    # A database that was put back to a former state has other events than those that were counted.
    is_there = kept.key is not None and Event.objects.filter(pk=kept.through, key=kept.key).exists()
    through, settled = (kept.through, kept.number) if is_there else (0, 0)
    return settled + rows.filter(id__gt=through).order_by().count()


class _Kept(NamedTuple):
    """How many events there are up to one that is settled."""

    through: int
    key: UUID | None
    number: int


def _settled(rows: QuerySet[Event]) -> _Kept:
    """The newest event behind which none comes any more, and how many of the rows there are up to it."""
    old = Event.objects.filter(created_at__lt=timezone.now() - SETTLED).order_by("-created_at", "-id")
    newest = old.values_list("id", "key").first()
    if newest is None:
        return _Kept(0, None, 0)
    return _Kept(*newest, rows.filter(id__lte=newest[0]).order_by().count())
