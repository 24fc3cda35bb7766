"""Redact personal data in events. Topic, time and actor are not removed."""

from collections.abc import Callable, Collection

from django.db.models import Model, Q, QuerySet

from apps.events.domain.diffs import HIDDEN_VALUE
from apps.events.domain.immutability import allow_redaction
from apps.events.models import Event
from apps.ground.privacy_registry import get_personal_columns

# A function that is called with the redacted rows and their events.
RedactionHook = Callable[[type[Model], Collection[int], "QuerySet[Event]"], None]

_hooks: list[RedactionHook] = []
_BATCH = 500


def register_redaction_hook(hook: RedactionHook) -> None:
    """Register a function that is called when rows are redacted, e.g. to clear stored responses."""
    _hooks.append(hook)


def redact_events(model: type[Model], ids: Collection[int]) -> None:
    """Remove the payloads and personal values from all events of these rows.

    New events already hide the values of personal columns. If an event still contains such values, because the column
    was declared personal later, all changes of the event are removed. The IP address is removed from events that a
    customer caused.
    """
    columns = get_personal_columns(model._meta.label)
    row_ids = sorted(ids)
    for batch in (row_ids[start : start + _BATCH] for start in range(0, len(row_ids), _BATCH)):
        events = Event.objects.filter(subject_type=model._meta.label_lower, subject_id__in=batch)
        for hook in _hooks:
            hook(model, batch, events)
        with allow_redaction():
            events.filter(payload__isnull=False).update(payload=None)
            events.filter(actor__startswith="customer:").update(address=None)
            if columns:
                Event.objects.filter(pk__in=_find_events_with_values(events, columns)).update(changes={})


def clear_payloads(events: QuerySet[Event]) -> int:
    """Remove the payloads of events and return how many events were updated."""
    with allow_redaction():
        return events.update(payload=None)


def _find_events_with_values(events: QuerySet[Event], columns: Collection[str]) -> list[int]:
    """Return the ids of events with changes that contain a value of one of these columns."""
    has_column = Q()
    for column in columns:
        has_column |= Q(changes__has_key=column)
    rows = events.filter(has_column).values_list("pk", "changes")
    return [pk for pk, changes in rows.iterator() if _has_values(changes, columns)]


def _has_values(changes: dict[str, object], columns: Collection[str]) -> bool:
    """Return True if changes contain a value of one of these columns."""
    pairs = [pair for column in columns if isinstance(pair := changes.get(column), list)]
    return any(value not in (HIDDEN_VALUE, "", None, [], {}) for pair in pairs for value in pair)
