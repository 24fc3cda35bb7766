"""Reading moments, in all the forms in which clients of the interface write them.

Rule: decisions, Conventions (Timestamps).
"""

import re
from datetime import UTC, datetime, tzinfo
from email.utils import parsedate_to_datetime

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
# One day short of the last year's end, so that a moment can be shown in every time zone.
LATEST = datetime(9999, 12, 30, tzinfo=UTC)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?)"
    r" ?(Z|z|UTC|[+-][0-9]{2}:?[0-9]{2}|[+-][0-9]{2})?",
    re.ASCII,
)
_RFC_2822 = re.compile(
    r"(?:[A-Z][a-z]{2}, ?)?[0-9]{1,2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{5,8}(?: [A-Z]{1,5}| [+-][0-9]{4})?"
)


class NotADate(ValueError):
    """The text is no moment, or one that no calendar of ours holds (1970 to 9999)."""


def parse_moment(text: str, zone: tzinfo) -> datetime:
    """The moment that a text names.

    Args:
        text: ISO 8601 with or without an offset, ``YYYY-MM-DD``, ``YYYY-MM-DD HH:MM[:SS][ UTC]``, or RFC 2822.
        zone: Where a text without an offset is from.

    Raises:
        NotADate: It is none of these, or outside of 1970 to 9999.
    """
    if len(text) > 64:
        raise NotADate(text)
    try:
        moment = _parse(text.strip())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone)
        moment = moment.astimezone(UTC)
    except (ValueError, OverflowError, TypeError) as error:
        raise NotADate(text) from error
    if not EARLIEST <= moment < LATEST:
        raise NotADate(text)
    return moment


def _parse(text: str) -> datetime:
    if _DATE.fullmatch(text):
        return datetime.fromisoformat(text)
    if match := _MOMENT.fullmatch(text):
        day, clock, offset = match[1], match[2].replace(",", "."), match[3]
        if "." in clock:
            whole, fraction = clock.split(".")
            clock = f"{whole}.{fraction[:6]:0<6}"
        zone = "" if offset is None else "+00:00" if offset in {"Z", "z", "UTC"} else offset
        return datetime.fromisoformat(f"{day}T{clock}{zone}")
    if _RFC_2822.fullmatch(text):
        return parsedate_to_datetime(text)
    raise NotADate(text)
