"""Count events with a cache: a shop has millions, but events are never changed or deleted, so old counts stay valid.

A count is cached together with the id of the last counted event; the next count adds the events after that id. Ids are
assigned before their transactions commit. So the cached count only covers events that are older than any running
transaction.
"""

import hashlib
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db.models import QuerySet
from django.utils import timezone

from apps.events.models import Event
from apps.ground.caching import get_or_compute, set_cached
from apps.ground.tenancy import get_current_shop

SETTLE_TIME = timedelta(hours=1)
CACHE_SECONDS = 7 * 24 * 3600
# If this many events were counted after the cached count, the cached count is refreshed.
REFRESH_THRESHOLD = 10_000


class _CachedCount(NamedTuple):
    """The number of events up to a settled event, which is older than any running transaction."""

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
    """Return True if the counted events are in this database; a restored backup may have other events."""
    return cached_count.key is not None and Event.objects.filter(pk=cached_count.through, key=cached_count.key).exists()


def _count_settled(rows: QuerySet[Event], since: _CachedCount) -> _CachedCount:
    """Return the newest settled event and the number of events up to it, starting from an earlier count."""
    old = Event.objects.filter(created_at__lt=timezone.now() - SETTLE_TIME).order_by("-created_at", "-id")
    newest = old.values_list("id", "key").first()
    if newest is None or newest[0] <= since.through:
        return since
    return _CachedCount(*newest, since.number + _count_between(rows, since.through, newest[0]))


def _count_between(rows: QuerySet[Event], after: int, through: int | None = None) -> int:
    rows = rows.filter(id__gt=after).order_by()
    return (rows if through is None else rows.filter(id__lte=through)).count()
