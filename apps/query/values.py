"""Numbers, dates and times as people write them in a query."""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal

from apps.ground.dates import SECOND, parse_rfc_2822, plain, whole_second
from apps.ground.phrases import NOT_A_DATE

_NUMBER = re.compile(r"[+-]?\d{1,40}(?:\.\d{1,40})?", re.ASCII)
_ISO = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)"
    r"(?:[T ](?P<minute>\d\d:\d\d)(?P<second>:\d\d)?(?P<fraction>\.\d{1,6})?)?"
    r"(?P<zone> ?UTC|Z|[+-]\d\d:?\d\d)?",
    re.ASCII,
)


def number(text: str) -> Decimal | None:
    """Read plain decimal digits exactly; None for all else, exponents and infinities too."""
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def interval(text: str, zone: tzinfo) -> tuple[datetime, datetime]:
    """Return the first instant that a date or time names and the first one after it, both in UTC.

    A date is a whole day, ``10:30`` a minute, ``10:30:00`` a second, a fraction the second that it is part of; so
    "equal" means "inside", and "after a day" means after its end.

    Args:
        text: ISO 8601 with or without time and offset, RFC 2822, or a form that ``apps.ground.dates.plain`` knows.
        zone: Where a time without an offset is meant, e.g. the shop's zone.

    Raises:
        ValueError: The text is no date, or one outside of the calendar.
    """
    text = plain(text)
    if start := parse_rfc_2822(text):
        return _span(start if start.tzinfo else start.replace(tzinfo=zone), SECOND)
    if not (found := _ISO.fullmatch(text)) or (found["fraction"] and not found["second"]):
        message = f"{text!r} {NOT_A_DATE}"
        raise ValueError(message)
    offset = (found["zone"] or "").strip().replace("UTC", "Z")
    start = datetime.fromisoformat(
        f"{found['day']}T{found['minute'] or '00:00'}{found['second'] or ':00'}{found['fraction'] or ''}{offset}"
    )
    if start.tzinfo is None:
        start = start.replace(tzinfo=zone)
    if not found["minute"]:
        # The next midnight and not 24 hours later: a day with a change of clocks is shorter or longer.
        return _span(start, timedelta(days=1))
    if not found["second"]:
        return _span(start, timedelta(minutes=1))
    return _span(whole_second(start), SECOND)


def _span(start: datetime, length: timedelta) -> tuple[datetime, datetime]:
    try:
        if length.days:
            return start.astimezone(UTC), (start + length).astimezone(UTC)
        begin = start.astimezone(UTC)
        return begin, begin + length
    except OverflowError:
        message = f"{start.isoformat()} is out of range"
        raise ValueError(message) from None
