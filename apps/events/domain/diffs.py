"""Compute changes for the audit log: ``{field: [before, after]}`` as JSON values, with long strings shortened."""

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

    Times are compared in whole seconds, because the API renders whole seconds.

    Args:
        row: The row before the change.
        values: The new values, keyed by field name.
        personal: Fields with personal data. Changes of these fields are recorded without values.
    """
    changed = {
        name: (before, after)
        for name, after in values.items()
        if _whole_seconds(before := getattr(row, name)) != _whole_seconds(after)
    }
    return build_changes(changed, personal=personal)


def apply_changes(row: Model, values: Mapping[str, object], *, personal: Container[str] = ()) -> Changes:
    """Set new values on a row without saving it, and return the changes.

    If there are no changes, a service must not save the row or record an event. Otherwise an app that writes back
    values after every webhook would cause an endless series of webhooks.

    Returns:
        The changes, in the format of ``compute_changes``.
    """
    changes = compute_changes(row, values, personal=personal)
    for name in changes:
        setattr(row, name, values[name])
    return changes


def build_changes(changed: Mapping[str, tuple[object, object]], *, personal: Container[str] = ()) -> Changes:
    """Build changes from pairs of old and new values, keyed by field name."""
    return {
        name: hide_change(before, after) if name in personal else [_plain(before), _plain(after)]
        for name, (before, after) in changed.items()
    }


def hide_change(before: object, after: object) -> list[object]:
    """Hide the values of a change, because events must not contain personal data. Blank values are not hidden."""
    return [HIDDEN_VALUE if value else value for value in (before, after)]


def _whole_seconds(value: object) -> object:
    return truncate_to_second(value) if isinstance(value, datetime) else value


def _plain(value: object) -> object:
    """Convert a value to JSON. Long strings are shortened."""
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
