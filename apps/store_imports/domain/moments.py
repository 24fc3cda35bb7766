"""Read the times of the store's objects, and set the times of creation of imported objects."""

from collections.abc import Sequence
from datetime import UTC, datetime

from django.db.models import Case, DateTimeField, Model, Value, When

from apps.core.timestamps import InvalidDate, parse_timestamp
from apps.core.types import Attrs
from apps.store_imports.domain.source_client import SourceObject
from apps.store_imports.domain.streams import ObjectResult, Outcome


def parse_source_moment(text: object) -> datetime | None:
    """Return the time in an object of the source, or None if there is no valid time."""
    try:
        return parse_timestamp(text, UTC) if isinstance(text, str) else None
    except InvalidDate:
        return None


def read_creation_time(source_object: SourceObject, at: datetime) -> Attrs:
    """Return the time of creation as a value of ``created_at``, but no time in the future of this installation."""
    created_at = parse_source_moment(source_object.get("created_at"))
    return {"created_at": min(created_at, at)} if created_at else {}


def set_creation_times(
    model: type[Model], objects: Sequence[SourceObject], results: Sequence[ObjectResult], *, at: datetime
) -> None:
    """Set the times of creation of new objects to those in the store. ``at`` is the time of the import."""
    times = {
        result.target_id: Value(created_at, DateTimeField())
        for row, result in zip(objects, results, strict=True)
        if result.outcome == Outcome.NEW and (created_at := read_creation_time(row, at).get("created_at"))
    }
    if times:
        rows = model._default_manager.filter(pk__in=times)
        rows.update(created_at=Case(*(When(pk=pk, then=created_at) for pk, created_at in times.items())))
