"""German date formats: "31. Dez. 2026"."""

DATE_FORMAT = SHORT_DATE_FORMAT = "j. N Y"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = SHORT_DATETIME_FORMAT = "j. N Y, H:i"
