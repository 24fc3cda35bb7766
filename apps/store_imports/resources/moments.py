from datetime import UTC, datetime

from apps.core.timestamps import InvalidDate, parse_timestamp


def parse_source_moment(text: object) -> datetime | None:
    """Return the time in an object of the source, or None if there is no valid time."""
    try:
        return parse_timestamp(text, UTC) if isinstance(text, str) else None
    except InvalidDate:
        return None
