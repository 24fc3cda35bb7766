"""Moments in all the forms that clients write."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from apps.ground.dates import NotADate, parse_moment

NEW_YORK = ZoneInfo("America/New_York")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2025-07-02T11:38:15-05:00", datetime(2025, 7, 2, 16, 38, 15, tzinfo=UTC)),
        ("2025-07-02T11:38:15Z", datetime(2025, 7, 2, 11, 38, 15, tzinfo=UTC)),
        ("2025-07-02T11:38:15", datetime(2025, 7, 2, 15, 38, 15, tzinfo=UTC)),
        ("2025-07-02T11:38:15.123456789+0200", datetime(2025, 7, 2, 9, 38, 15, 123456, tzinfo=UTC)),
        ("2025-07-02", datetime(2025, 7, 2, 4, tzinfo=UTC)),
        ("2025-07-02 11:38", datetime(2025, 7, 2, 15, 38, tzinfo=UTC)),
        ("2025-07-02 11:38:15 UTC", datetime(2025, 7, 2, 11, 38, 15, tzinfo=UTC)),
        ("Wed, 02 Jul 2025 11:38:15 -0500", datetime(2025, 7, 2, 16, 38, 15, tzinfo=UTC)),
        ("2 Jul 2025 11:38:15 GMT", datetime(2025, 7, 2, 11, 38, 15, tzinfo=UTC)),
    ],
)
def test_moment_is_read_in_every_form(text: str, moment: datetime) -> None:
    assert parse_moment(text, NEW_YORK) == moment


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2026-02-30",
        "9999-12-31T23:59:59-14:00",
        "0001-01-01T00:00:00+14:00",
        "1969-12-31T23:59:59Z",
        "10000-01-01",
        "2026-06-30T23:59:60Z",
        "1700000000",
        "２０２６-01-01",
        "1" * 1000,
        "Mon, 99 Foo 2026 00:00:00 GMT",
        "2026-01-01T25:00:00Z",
        "2026-01-01T00:00:00+99:99",
    ],
)
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(NotADate):
        parse_moment(text, NEW_YORK)
