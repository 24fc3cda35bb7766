"""Counts of events, of which a shop has millions: no event is changed or deleted, so what was counted stays true.

A count is kept in the cache, with the id up to which it was made; the next one adds the events after it. Ids are given
before their transactions end, and so only events count as settled that are older than any transaction.
"""

import hashlib
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db.models import QuerySet
from django.utils import timezone

from apps.events.models import Event
from apps.ground.caching import cached, keep
from apps.ground.tenancy import current_shop

SETTLED = timedelta(hours=1)
KEPT_SECONDS = 7 * 24 * 3600
# From so many events on that are counted after what is kept, the count is kept anew.
RENEWED_FROM = 10_000


class _Kept(NamedTuple):
    """How many events there are up to one that is settled."""

    through: int
    key: UUID | None
    number: int


_NOTHING = _Kept(0, None, 0)


def count(rows: QuerySet[Event]) -> int:
    """How many events of the current shop there are; ``rows`` are filtered by what never changes of an event."""
    try:
        named = hashlib.sha256(str(rows.query).encode()).hexdigest()
    except EmptyResultSet:
        return 0
    name = f"events.count:{current_shop().pk}:{named}"
    known = cached(name, lambda: _settled(rows, _NOTHING), KEPT_SECONDS)
    since = known if _is_there(known) else _NOTHING
    fresh = _between(rows, since.through)
    if fresh >= RENEWED_FROM:
        keep(name, _settled(rows, since), KEPT_SECONDS)
    return since.number + fresh


def _is_there(known: _Kept) -> bool:
    """Whether the database is still the one of the count: one that was put back to a former state has other events."""
    return known.key is not None and Event.objects.filter(pk=known.through, key=known.key).exists()


def _settled(rows: QuerySet[Event], since: _Kept) -> _Kept:
    """The newest event behind which none comes any more, and how many of the rows there are up to it."""
    old = Event.objects.filter(created_at__lt=timezone.now() - SETTLED).order_by("-created_at", "-id")
    newest = old.values_list("id", "key").first()
    if newest is None or newest[0] <= since.through:
        return since
    return _Kept(*newest, since.number + _between(rows, since.through, newest[0]))


def _between(rows: QuerySet[Event], after: int, through: int | None = None) -> int:
    rows = rows.filter(id__gt=after).order_by()
    return (rows if through is None else rows.filter(id__lte=through)).count()
