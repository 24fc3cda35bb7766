"""The audit log as a file: one row per event, oldest first."""

from collections.abc import Iterator
from typing import Any

import orjson

from apps.events.domain.wording import sentence
from apps.events.models import Event
from apps.staff.domain.actors import names_of

COLUMNS = (
    "id",
    "at",
    "actor",
    "who",
    "topic",
    "what",
    "about",
    "subject_type",
    "subject_id",
    "changes",
    "request_id",
    "address",
)
# By what an export of it can be narrowed.
FILTERS = ("topic", "actor", "actor__startswith", "subject_label__icontains", "created_at__gte", "created_at__lt")


def batches(rows: Any, size: int) -> Iterator[list[dict[str, Any]]]:
    """The events of a queryset as JSON values, by keyset; times are ISO 8601 in UTC."""
    last = 0
    while events := list(rows.filter(pk__gt=last).defer("payload").order_by("pk")[:size]):
        last = events[-1].pk
        names = names_of([event.actor for event in events])
        yield [_shown(event, names[event.actor]) for event in events]


def cells(shown: dict[str, Any]) -> dict[str, Any]:
    """One event as a row of a table."""
    return shown | {"changes": orjson.dumps(shown["changes"]).decode() if shown["changes"] else ""}


def _shown(event: Event, who: str) -> dict[str, Any]:
    return {
        "id": event.pk,
        "at": event.created_at.isoformat(),
        "actor": event.actor,
        "who": who,
        "topic": event.topic,
        "what": sentence(event),
        "about": event.subject_label,
        "subject_type": event.subject_type,
        "subject_id": event.subject_id,
        "changes": event.changes,
        "request_id": event.request_id,
        "address": event.address,
    }
