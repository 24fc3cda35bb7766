"""Count events with a cache. Events are never changed or deleted, so a count of old events remains valid.

A cached count includes the id of the last counted event, and the next count adds the events after that id. An event
gets its id before its transaction commits, so an event with a lower id can appear later. Therefore the cached count
only covers events that are older than any running transaction can be.
"""

import hashlib
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db.models import QuerySet
from django.utils import timezone

from apps.core.cache import get_or_compute, set_cached
from apps.core.events.models import Event
from apps.core.tenancy.scope import get_current_shop

SETTLE_TIME = timedelta(hours=1)
CACHE_SECONDS = 7 * 24 * 3600
# The cached count is refreshed when there are at least this many newer events.
REFRESH_THRESHOLD = 10_000


class _CachedCount(NamedTuple):
    """The number of events up to a settled event, which is at least ``SETTLE_TIME`` old."""

    through: int
    key: UUID | None
    number: int


_NOTHING = _CachedCount(0, None, 0)


def count_events(rows: QuerySet[Event]) -> int:
    """Count events of the current shop; ``rows`` may only be filtered by columns that never change."""
    try:
        query_hash = hashlib.sha256(str(rows.query).encode()).hexdigest()
    except EmptyResultSet:
        return 0
    name = f"events.count:{get_current_shop().pk}:{query_hash}"
    cached_count = get_or_compute(name, lambda: _count_settled(rows, _NOTHING), CACHE_SECONDS)
    base = cached_count if _is_valid(cached_count) else _NOTHING
    recent = _count_between(rows, base.through)
    if recent >= REFRESH_THRESHOLD:
        set_cached(name, _count_settled(rows, base), CACHE_SECONDS)
    return base.number + recent


def _is_valid(cached_count: _CachedCount) -> bool:
    """Return True if the last counted event is still in the database. A restored backup may not contain this event."""
    return cached_count.key is not None and Event.objects.filter(pk=cached_count.through, key=cached_count.key).exists()


def _count_settled(rows: QuerySet[Event], since: _CachedCount) -> _CachedCount:
    """Add the events up to the newest settled event to an earlier count, and return the new count."""
    old = Event.objects.filter(created_at__lt=timezone.now() - SETTLE_TIME).order_by("-created_at", "-id")
    newest = old.values_list("id", "key").first()
    if newest is None or newest[0] <= since.through:
        return since
    return _CachedCount(*newest, since.number + _count_between(rows, since.through, newest[0]))


def _count_between(rows: QuerySet[Event], after: int, through: int | None = None) -> int:
    rows = rows.filter(id__gt=after).order_by()
    return (rows if through is None else rows.filter(id__lte=through)).count()
