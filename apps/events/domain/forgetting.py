"""Forgetting what events hold of a person; that something happened, when and by whom, stays on record."""

from collections.abc import Callable, Collection

from django.db.models import Model, Q, QuerySet

from apps.events.domain.changes import HIDDEN
from apps.events.domain.guarding import redacting
from apps.events.models import Event
from apps.ground.personal import personal_columns

# Told of the rows that are being forgotten, and of the events that tell of them.
Follower = Callable[[type[Model], Collection[int], "QuerySet[Event]"], None]

_followers: list[Follower] = []
_BATCH = 500


def on_forget(follow: Follower) -> None:
    """Have a function called whenever rows are forgotten, e.g. to empty answers that were kept."""
    _followers.append(follow)


def forget(model: type[Model], ids: Collection[int]) -> None:
    """Empty what was told to subscribers of these rows, and what the trail says of their personal columns.

    Changes name personal columns without their values already; rows from before a column was declared personal lose
    all that they say of the change. Events of the person's own doing lose the address that they came from.
    """
    columns = personal_columns(model._meta.label)
    wanted = sorted(ids)
    for some in (wanted[start : start + _BATCH] for start in range(0, len(wanted), _BATCH)):
        events = Event.objects.filter(subject_type=model._meta.label_lower, subject_id__in=some)
        for follow in _followers:
            follow(model, some, events)
        with redacting():
            events.filter(payload__isnull=False).update(payload=None)
            events.filter(actor__startswith="customer:").update(address=None)
            if columns:
                Event.objects.filter(pk__in=_spoken(events, columns)).update(changes={})


def forget_payloads(events: QuerySet[Event]) -> int:
    """Empty what was told to subscribers; returns of how many events."""
    with redacting():
        return events.update(payload=None)


def _spoken(events: QuerySet[Event], columns: Collection[str]) -> list[int]:
    """The events whose changes hold a value of one of these columns."""
    named = Q()
    for column in columns:
        named |= Q(changes__has_key=column)
    told = events.filter(named).values_list("pk", "changes")
    return [pk for pk, changes in told.iterator() if _speaks(changes, columns)]


def _speaks(changes: dict[str, object], columns: Collection[str]) -> bool:
    """Whether changes hold a value of one of these columns."""
    pairs = [pair for column in columns if isinstance(pair := changes.get(column), list)]
    return any(value not in (HIDDEN, "", None, [], {}) for pair in pairs for value in pair)
