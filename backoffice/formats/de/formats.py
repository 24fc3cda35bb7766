"""As in English, the month is a word; the day has its point."""

DATE_FORMAT = SHORT_DATE_FORMAT = "j. M Y"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = SHORT_DATETIME_FORMAT = "j. M Y, H:i"
