"""Parse numbers, dates and times in a query."""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal

from apps.core.i18n.error_messages import NOT_A_DATE
from apps.core.timestamps import SECOND, normalize_date_text, parse_rfc_2822, truncate_to_second

_NUMBER = re.compile(r"[+-]?\d{1,40}(?:\.\d{1,40})?", re.ASCII)
_ISO = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)"
    r"(?:[T ](?P<minute>\d\d:\d\d)(?P<second>:\d\d)?(?P<fraction>\.\d{1,6})?)?"
    r"(?P<zone> ?UTC|Z|[+-]\d\d:?\d\d)?",
    re.ASCII,
)


def parse_number(text: str) -> Decimal | None:
    """Parse a plain decimal number without rounding. Return None for other input, such as "1e3" or "Infinity"."""
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def parse_interval(text: str, zone: tzinfo) -> tuple[datetime, datetime]:
    """Return the start and the exclusive end of a date or time, both in UTC. Other texts raise a ``ValueError``.

    A date is a whole day, ``10:30`` is a minute, and ``10:30:00`` is a second. Fractions of a second are ignored.
    "Equal" therefore means within the interval, and "after a day" means after the end of the day. ``zone`` applies to
    times without an offset.
    """
    text = normalize_date_text(text)
    if start := parse_rfc_2822(text):
        return _span(start if start.tzinfo else start.replace(tzinfo=zone), SECOND)
    if not (match := _ISO.fullmatch(text)) or (match["fraction"] and not match["second"]):
        message = f"{text!r} {NOT_A_DATE}"
        raise ValueError(message)
    offset = (match["zone"] or "").strip().replace("UTC", "Z")
    start = datetime.fromisoformat(
        f"{match['day']}T{match['minute'] or '00:00'}{match['second'] or ':00'}{match['fraction'] or ''}{offset}"
    )
    if start.tzinfo is None:
        start = start.replace(tzinfo=zone)
    if not match["minute"]:
        # Add a calendar day, not 24 hours, because days with a clock change are shorter or longer.
        return _span(start, timedelta(days=1))
    if not match["second"]:
        return _span(start, timedelta(minutes=1))
    return _span(truncate_to_second(start), SECOND)


def _span(start: datetime, length: timedelta) -> tuple[datetime, datetime]:
    try:
        if length.days:
            return start.astimezone(UTC), (start + length).astimezone(UTC)
        start_utc = start.astimezone(UTC)
        return start_utc, start_utc + length
    except OverflowError:
        message = f"{start.isoformat()} is out of range"
        raise ValueError(message) from None
