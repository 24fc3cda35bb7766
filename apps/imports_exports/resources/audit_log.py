"""Export the audit log, with one row per event, oldest first. The audit log can't be imported."""

from collections.abc import Iterable, Sequence

import orjson
from django.utils.translation import gettext_lazy

from apps.core.events.models import Event
from apps.core.events.timelines import describe_event
from apps.core.tenancy.actor_names import get_actor_names
from apps.imports_exports.domain.resources import Exporter, ObjectData, Resource


def _read_events(ids: Sequence[int]) -> list[ObjectData]:
    """Return events as JSON values. Times are in ISO 8601 format in UTC."""
    events = list(Event.objects.filter(pk__in=ids).defer("payload").order_by("pk"))
    names = get_actor_names([event.actor for event in events])
    return [_render_event(event, names[event.actor]) for event in events]


def _render_event(event: Event, actor_name: str) -> ObjectData:
    return {
        "id": event.pk,
        "at": event.created_at.isoformat(),
        "actor": event.actor,
        "who": actor_name,
        "topic": event.topic,
        "what": describe_event(event),
        "about": event.subject_label,
        "subject_type": event.subject_type,
        "subject_id": event.subject_id,
        "changes": event.changes,
        "request_id": event.request_id,
        "address": event.address,
    }


def _get_cells(row: ObjectData) -> Iterable[ObjectData]:
    return [row | {"changes": orjson.dumps(row["changes"]).decode() if row["changes"] else ""}]


AUDIT_LOG = Resource(
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
        read_objects=_read_events,
        get_cells=_get_cells,
    ),
)
