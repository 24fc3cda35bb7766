from collections.abc import Iterable

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.bulk_edits.domain.operations import FIELD_LABELS
from apps.bulk_edits.models import EditedRow
from apps.core.admin.forms.error_display import format_message
from apps.core.i18n.formats import format_integer, format_plain_number

_RANGE = " – "
# The fields that have REST status names as values.
_STATUS_FIELDS = frozenset({"status", "email_consent", "sms_consent"})


def translate_rows(rows: Iterable[EditedRow]) -> list[EditedRow]:
    """Translate reasons, field names and values in place. The rows must not be saved afterwards."""
    all_rows = list(rows)
    for row in all_rows:
        row.reason = format_message(row.reason)
        row.changes = [
            (_format_label(row, name), _format_value(name, old), _format_value(name, new))
            for name, old, new in row.changes
        ]
    return all_rows


def list_changes(row: EditedRow) -> list[tuple[str, str, str]]:
    """Return the label, and the old and the new value for a file, of each changed field."""
    return [(_format_label(row, name), _to_text(name, old), _to_text(name, new)) for name, old, new in row.changes]


def _format_label(row: EditedRow, name: str) -> str:
    """Return the label of a field, with the number of variants if a product has several."""
    values = row.before.get(name)
    label, count = _(FIELD_LABELS[name]), len(values) if isinstance(values, dict) else 1
    if count == 1:
        return label
    text = ngettext("{field} ({count} variant)", "{field} ({count} variants)", count)
    return text.format(field=label, count=format_integer(count))


def _to_text(name: str, value: str | list[str]) -> str:
    """Return a value as text. The amounts of several variants are a range."""
    if isinstance(value, list):
        return _RANGE.join(value)
    return value.replace("_", " ") if name in _STATUS_FIELDS else value


def _format_value(name: str, value: str | list[str]) -> str:
    """Translate or localize a value."""
    if isinstance(value, list):
        return _RANGE.join(map(format_plain_number, value))
    text = _to_text(name, value)
    return _(text) if text and name in _STATUS_FIELDS else text
