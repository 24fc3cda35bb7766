"""What changed, as the audit trail keeps it: ``{field: [before, after]}`` as JSON values, long texts cut."""

from collections.abc import Container, Mapping
from datetime import datetime

from django.db.models import Model, QuerySet
from django.utils.translation import gettext_noop

from apps.ground.dates import whole_second

LONGEST = 500
HIDDEN = gettext_noop("(hidden)")

Changes = dict[str, list[object]]


def changes_of(row: Model, values: Mapping[str, object], *, personal: Container[str] = ()) -> Changes:
    """What new values would change of a row; moments are compared in whole seconds, as the interface shows them.

    Args:
        row: As it is before the change.
        values: By field.
        personal: The fields of which is kept that they changed, and not what they were.
    """
    changed = {
        name: (before, after)
        for name, after in values.items()
        if _whole_seconds(before := getattr(row, name)) != _whole_seconds(after)
    }
    return changes_between(changed, personal=personal)


def assign(row: Model, values: Mapping[str, object], *, personal: Container[str] = ()) -> Changes:
    """Give a row the values that it does not have yet; nothing is saved.

    An update in which this and everything else finds nothing to change saves nothing and records nothing: apps that
    write back what they read would else be told of their own update, and write again.

    Returns:
        What changed, by field, as ``changes_of``.
    """
    changes = changes_of(row, values, personal=personal)
    for name in changes:
        setattr(row, name, values[name])
    return changes


def changes_between(changed: Mapping[str, tuple[object, object]], *, personal: Container[str] = ()) -> Changes:
    """Changes out of the value before and after, by field."""
    return {
        name: hidden(before, after) if name in personal else [_plain(before), _plain(after)]
        for name, (before, after) in changed.items()
    }


def hidden(before: object, after: object) -> list[object]:
    """A change of personal data, which rows that are never changed must not hold; blank stays blank."""
    return [HIDDEN if value else value for value in (before, after)]


def _whole_seconds(value: object) -> object:
    return whole_second(value) if isinstance(value, datetime) else value


def _plain(value: object) -> object:
    """A value that JSON can hold, shortened where it is a long text."""
    if isinstance(value, str):
        return value if len(value) <= LONGEST else f"{value[:LONGEST]}…"
    if isinstance(value, bool | int | float | None):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, QuerySet | list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    return str(value)
