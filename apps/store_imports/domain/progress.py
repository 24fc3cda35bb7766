"""The progress of an import: the totals of its streams, the time spent, and an estimate of the remaining time."""

import time
from collections.abc import Collection, Iterable
from datetime import timedelta

from django.db.models import F
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.core.i18n import formats
from apps.core.tenancy.scope import get_current_shop
from apps.store_imports.domain.streams import Source, Stream
from apps.store_imports.models import StoreImport, StreamState

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def create_states(store_import: StoreImport, selected: Iterable[Stream], source: Source) -> None:
    """Create the states of the streams that this run has not begun, with the numbers of objects in the store."""
    existing = set(StreamState.objects.filter(store_import=store_import).values_list("name", flat=True))
    for stream in selected:
        if stream.name not in existing:
            total = stream.count_objects(source)
            StreamState.objects.get_or_create(
                shop=get_current_shop(), store_import=store_import, name=stream.name, defaults={"total": total}
            )


def add_seconds(state: StreamState, started: float) -> None:
    """Add the time since ``started`` by the monotonic clock to the time of a stream."""
    StreamState.objects.filter(pk=state.pk).update(seconds=F("seconds") + time.monotonic() - started)


def estimate_remaining(states: Collection[StreamState]) -> timedelta | None:
    """Return how long the streams will probably take, or None while no object has been processed.

    A stream that has not begun takes as long per object as the average of the others.
    """
    done, seconds = sum(state.done for state in states), sum(state.seconds for state in states)
    if not done or not seconds:
        return None
    remaining = 0.0
    for state in states:
        if state.finished_at is None:
            rate = state.seconds / state.done if state.done and state.seconds else seconds / done
            remaining += max((state.total or 0) - state.done, 0) * rate
    return timedelta(seconds=remaining)


def describe_remaining(remaining: timedelta | None) -> str:
    """Return the remaining time as a text, such as *about 5 minutes left*, or a blank string if it is unknown."""
    if remaining is None:
        return ""
    seconds = remaining.total_seconds()
    if seconds < _MINUTE:
        return _("less than a minute left")
    if seconds < 2 * _HOUR:
        number = round(seconds / _MINUTE)
        text = ngettext("about {number} minute left", "about {number} minutes left", number)
    elif seconds < 2 * _DAY:
        number = round(seconds / _HOUR)
        text = ngettext("about {number} hour left", "about {number} hours left", number)
    else:
        number = round(seconds / _DAY)
        text = ngettext("about {number} day left", "about {number} days left", number)
    return text.format(number=formats.format_integer(number))
