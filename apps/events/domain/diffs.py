"""Compute changes for the audit log: ``{field: [before, after]}`` as JSON values, with long texts cut."""

from collections.abc import Container, Mapping
from datetime import datetime

from django.db.models import Model, QuerySet
from django.utils.translation import gettext_noop

from apps.ground.timestamps import truncate_to_second

MAX_TEXT_LENGTH = 500
HIDDEN_VALUE = gettext_noop("(hidden)")

Changes = dict[str, list[object]]


def compute_changes(row: Model, values: Mapping[str, object], *, personal: Container[str] = ()) -> Changes:
    """Return the changes that new values would make to a row.

    Times are compared in whole seconds, as they are rendered.

    Args:
        row: The row before the change.
        values: The new values by field.
        personal: Fields with hidden values; only the fact of a change is recorded.
    """
    changed = {
        name: (before, after)
        for name, after in values.items()
        if _whole_seconds(before := getattr(row, name)) != _whole_seconds(after)
    }
    return build_changes(changed, personal=personal)


def apply_changes(row: Model, values: Mapping[str, object], *, personal: Container[str] = ()) -> Changes:
    """Set new values on a row without saving it, and return the changes.

    A service that finds no changes saves and records nothing. Otherwise apps that write back what they read would
    receive an event for their own update, and write again.

    Returns:
        The changes by field, as for ``compute_changes``.
    """
    changes = compute_changes(row, values, personal=personal)
    for name in changes:
        setattr(row, name, values[name])
    return changes


def build_changes(changed: Mapping[str, tuple[object, object]], *, personal: Container[str] = ()) -> Changes:
    """Build changes from old and new values by field."""
    return {
        name: hide_change(before, after) if name in personal else [_plain(before), _plain(after)]
        for name, (before, after) in changed.items()
    }


def hide_change(before: object, after: object) -> list[object]:
    """Return a change with hidden values, because events must not contain personal data; blank values stay blank."""
    return [HIDDEN_VALUE if value else value for value in (before, after)]


def _whole_seconds(value: object) -> object:
    return truncate_to_second(value) if isinstance(value, datetime) else value


def _plain(value: object) -> object:
    """Convert a value to JSON; long texts are cut."""
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT_LENGTH else f"{value[:MAX_TEXT_LENGTH]}…"
    if isinstance(value, bool | int | float | None):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, QuerySet | list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    return str(value)
