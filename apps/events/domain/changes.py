"""What changed, as the audit trail keeps it: ``{field: [before, after]}`` as JSON values, long texts cut."""

from collections.abc import Container, Mapping
from datetime import datetime

from django.db.models import Model, QuerySet
from django.forms import BaseForm

LONGEST = 500
HIDDEN = "(hidden)"

Changes = dict[str, list[object]]


def changes_of(row: Model, values: Mapping[str, object], *, personal: Container[str] = ()) -> Changes:
    """What new values would change of a row.

    Args:
        row: As it is before the change.
        values: By field.
        personal: The fields of which is kept that they changed, and not what they were.
    """
    changed = {name: (before, after) for name, after in values.items() if (before := getattr(row, name)) != after}
    return {
        name: hidden(before, after) if name in personal else [_plain(before), _plain(after)]
        for name, (before, after) in changed.items()
    }


def changes_in(form: BaseForm) -> Changes:
    """What was changed in a form."""
    return {
        name: [_plain(form.get_initial_for_field(form.fields[name], name)), _plain(form.cleaned_data.get(name))]
        for name in form.changed_data
        if name in form.fields and not form.fields[name].widget.is_hidden
    }


def hidden(before: object, after: object) -> list[object]:
    """A change of personal data, which rows that are never changed must not hold; blank stays blank."""
    return [HIDDEN if value else value for value in (before, after)]


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
