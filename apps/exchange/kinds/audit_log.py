"""The audit log in files: one row per event, oldest first; it goes out, and never in."""

from collections.abc import Iterable, Sequence

import orjson
from django.utils.translation import gettext_lazy

from apps.events.domain.wording import sentence
from apps.events.models import Event
from apps.exchange.domain.kinds import Exporter, Kind, Shown
from apps.staff.domain.actors import names_of


def _read(ids: Sequence[int]) -> list[Shown]:
    """Events as JSON values; times are ISO 8601 in UTC."""
    events = list(Event.objects.filter(pk__in=ids).defer("payload").order_by("pk"))
    names = names_of([event.actor for event in events])
    return [_shown(event, names[event.actor]) for event in events]


def _shown(event: Event, who: str) -> Shown:
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


def _cells(shown: Shown) -> Iterable[Shown]:
    return [shown | {"changes": orjson.dumps(shown["changes"]).decode() if shown["changes"] else ""}]


AUDIT_LOG = Kind(
    name="events",
    label=gettext_lazy("Audit log"),
    singular="event",
    exporter=Exporter(
        model=Event,
        permission="events.export_event",
        granted_by="staff_audit_log_view",
        topic="audit_log/export",
        filters=(
            "topic",
            "actor",
            "actor__startswith",
            "subject_label__icontains",
            "created_at__gte",
            "created_at__lt",
        ),
        columns=(
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
        ),
        read=_read,
        cells=_cells,
    ),
)
