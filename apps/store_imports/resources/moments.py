from datetime import UTC, datetime

from apps.core.timestamps import InvalidDate, parse_timestamp
from apps.core.types import Attrs
from apps.store_imports.domain.source_client import SourceObject


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
