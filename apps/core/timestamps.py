"""Parse timestamps in all formats that clients of the API use."""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from email.utils import parsedate_to_datetime

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
# The limit is a day before the end of the year 9999, so that the time can be rendered in every time zone.
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
# The output of Unix ``date`` and of several programming languages: "Thu Mar 24 15:45:47 UTC 2011", optionally with an
# offset or without a time zone.
_UNIX = re.compile(
    r"(?:[A-Z][a-z]{2} )?(?P<month>[A-Z][a-z]{2}) {1,2}(?P<day>[0-9]{1,2}) (?P<clock>[0-9:]{5,8})"
    r"(?: (?P<zone>[A-Z]{1,5}|[+-][0-9]{4}))? (?P<year>[0-9]{4})"
)
# "March 24, 2011" or "Mar 24, 2011".
_WRITTEN = re.compile(r"(?P<month>[A-Z][a-z]{2,8}) (?P<day>[0-9]{1,2}), (?P<year>[0-9]{4})")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
SECOND = timedelta(seconds=1)


class InvalidDate(ValueError):
    """Raised when a string is not a valid timestamp, or the time is not between 1970 and 9999."""


def parse_timestamp(text: str, zone: tzinfo) -> datetime:
    """Parse a timestamp to a UTC datetime. ``zone`` applies if the timestamp has no offset.

    Formats: ISO 8601, ``YYYY-MM-DD``, ``YYYY-MM-DD HH:MM[:SS][ UTC]``, RFC 2822, and the formats of
    ``normalize_date_text``. Other formats, and times that are not between 1970 and 9999, raise ``InvalidDate``.
    """
    if len(text) > 64:
        raise InvalidDate(text)
    try:
        moment = _parse(normalize_date_text(text.strip()))
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone)
        moment = moment.astimezone(UTC)
    except (ValueError, OverflowError, TypeError) as error:
        raise InvalidDate(text) from error
    if not EARLIEST <= moment < LATEST:
        raise InvalidDate(text)
    return moment


def normalize_date_text(text: str) -> str:
    """Convert the output of Unix ``date``, and dates like "March 24, 2011", to RFC 2822 or ISO 8601."""
    if match := _UNIX.fullmatch(text):
        return " ".join(filter(None, match.group("day", "month", "year", "clock", "zone")))
    if match := _WRITTEN.fullmatch(text):
        for number, month in enumerate(_MONTHS, start=1):
            if match["month"] in {month, month[:3]}:
                return f"{match['year']}-{number:02}-{match['day']:0>2}"
    return text


def parse_rfc_2822(text: str) -> datetime | None:
    """Parse an RFC 2822 timestamp, or return None. A date that does not exist raises a ``ValueError``."""
    if not _RFC_2822.fullmatch(text):
        return None
    try:
        moment = parsedate_to_datetime(text)
    except TypeError as error:
        raise ValueError(text) from error
    # The offset "-0000" means that the time is in UTC and the local time zone is unknown.
    return moment.replace(tzinfo=UTC) if text.endswith("-0000") else moment


def truncate_to_second(moment: datetime) -> datetime:
    return moment.replace(microsecond=0)


def _parse(text: str) -> datetime:
    if _DATE.fullmatch(text):
        return datetime.fromisoformat(text)
    if match := _MOMENT.fullmatch(text):
        day, clock, offset = match[1], match[2].replace(",", "."), match[3]
        if "." in clock:
            seconds, fraction = clock.split(".")
            clock = f"{seconds}.{fraction[:6]:0<6}"
        zone = "" if offset is None else "+00:00" if offset in {"Z", "z", "UTC"} else offset
        return datetime.fromisoformat(f"{day}T{clock}{zone}")
    if moment := parse_rfc_2822(text):
        return moment
    raise InvalidDate(text)
