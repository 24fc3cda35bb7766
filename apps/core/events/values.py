"""Convert the values of changes to JSON for events, shortened and without personal data."""

from datetime import datetime

from django.db.models import QuerySet

from apps.core.i18n.messages import define_text

MAX_TEXT_LENGTH = 500
MAX_ITEMS = 50
HIDDEN_VALUE = define_text("hidden", "(hidden)")
# The part of a long text before the first difference that an event contains.
_CONTEXT = 60

Changes = dict[str, list[object]]


def hide_change(before: object, after: object) -> list[object]:
    """Hide the values of a change, because events must not contain personal data. Blank values are not hidden."""
    return [HIDDEN_VALUE if value else value for value in (before, after)]


def to_plain_pair(before: object, after: object) -> list[object]:
    """Convert both values to JSON. Long texts begin shortly before their first difference."""
    if isinstance(before, str) and isinstance(after, str) and max(len(before), len(after)) > MAX_TEXT_LENGTH:
        start = max(_find_difference(before, after) - _CONTEXT, 0)
        if start:
            before, after = f"…{before[start:]}", f"…{after[start:]}"
    return [to_plain(before), to_plain(after)]


def to_plain(value: object) -> object:
    """Convert a value to JSON. Long strings and lists are shortened."""
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT_LENGTH else f"{value[:MAX_TEXT_LENGTH]}…"
    if isinstance(value, bool | int | float | None):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, QuerySet | list | tuple | set | frozenset):
        items = list(value)
        return [*map(to_plain, items[:MAX_ITEMS]), *(["…"] if len(items) > MAX_ITEMS else [])]
    if isinstance(value, dict):
        return {str(name): to_plain(item) for name, item in list(value.items())[:MAX_ITEMS]}
    return str(value)


def _find_difference(before: str, after: str) -> int:
    """Return the index of the first difference. A binary search finds it without a step for each character."""
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        if before[:middle] == after[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
