"""Read the IDs of rows from the query string or a form."""

# All numbers with this many digits fit in a BIGINT column.
_ID_DIGITS = 18


def is_possible_id(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _ID_DIGITS


def parse_ids(text: str, *, limit: int) -> list[int]:
    """Return the first different IDs of a list with commas. Other texts in the list are ignored."""
    ids = (int(part) for part in text.split(",") if is_possible_id(part))
    return list(dict.fromkeys(ids))[:limit]
