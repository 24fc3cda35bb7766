"""Reading moments, in all the forms in which clients of the interface write them.

Rule: decisions, Conventions (Timestamps).
"""

import re
from datetime import UTC, datetime, timedelta, tzinfo
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
# As Unix and several languages print a moment: "Thu Mar 24 15:45:47 UTC 2011", with an offset, or without a zone.
_UNIX = re.compile(
    r"(?:[A-Z][a-z]{2} )?(?P<month>[A-Z][a-z]{2}) {1,2}(?P<day>[0-9]{1,2}) (?P<clock>[0-9:]{5,8})"
    r"(?: (?P<zone>[A-Z]{1,5}|[+-][0-9]{4}))? (?P<year>[0-9]{4})"
)
# "March 24, 2011"; its month may be cut to three letters.
_WRITTEN = re.compile(r"(?P<month>[A-Z][a-z]{2,8}) (?P<day>[0-9]{1,2}), (?P<year>[0-9]{4})")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
SECOND = timedelta(seconds=1)


class NotADate(ValueError):
    """The text is no moment, or one that no calendar of ours holds (1970 to 9999)."""


def parse_moment(text: str, zone: tzinfo) -> datetime:
    """The moment that a text names.

    Args:
        text: ISO 8601 with or without an offset, ``YYYY-MM-DD``, ``YYYY-MM-DD HH:MM[:SS][ UTC]``, RFC 2822, or a form
            that ``plain`` knows.
        zone: Where a text without an offset is from.

    Raises:
        NotADate: It is none of these, or outside of 1970 to 9999.
    """
    if len(text) > 64:
        raise NotADate(text)
    try:
        moment = _parse(plain(text.strip()))
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone)
        moment = moment.astimezone(UTC)
    except (ValueError, OverflowError, TypeError) as error:
        raise NotADate(text) from error
    if not EARLIEST <= moment < LATEST:
        raise NotADate(text)
    return moment


def plain(text: str) -> str:
    """The same moment as RFC 2822 or ISO 8601 write it, where another form is known: as Unix prints it, or in words."""
    if match := _UNIX.fullmatch(text):
        return " ".join(filter(None, match.group("day", "month", "year", "clock", "zone")))
    if match := _WRITTEN.fullmatch(text):
        for number, month in enumerate(_MONTHS, start=1):
            if match["month"] in {month, month[:3]}:
                return f"{match['year']}-{number:02}-{match['day']:0>2}"
    return text


def parse_rfc_2822(text: str) -> datetime | None:
    """The moment of a text as mails write it; naive where it names no zone, None where the text is no such moment.

    Raises:
        ValueError: No calendar has it.
    """
    if not _RFC_2822.fullmatch(text):
        return None
    try:
        moment = parsedate_to_datetime(text)
    except TypeError as error:
        raise ValueError(text) from error
    # "-0000" says that the place is unknown, and not the moment.
    return moment.replace(tzinfo=UTC) if text.endswith("-0000") else moment


def whole_second(moment: datetime) -> datetime:
    """The second that a moment is in, which is how the interface shows and compares it."""
    return moment.replace(microsecond=0)


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
    if moment := parse_rfc_2822(text):
        return moment
    raise NotADate(text)
