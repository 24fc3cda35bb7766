"""Format the results of a bulk edit for staff.

Stored results contain English field labels, and the error messages and status names of the REST API.
"""

from collections.abc import Iterable

from django.utils.translation import gettext as _

from apps.bulk.domain.operations import AMOUNTS, FIELD_LABELS
from apps.bulk.models import EditedRow
from apps.ground import languages
from apps.ground.stored_messages import translate_stored
from apps.panel.error_display import format_stored_error

# Labels of the fields that have REST status names as values.
_STATUS_FIELDS = {FIELD_LABELS[name] for name in ("status", "email_consent", "sms_consent")}
_RANGE_SEPARATOR = " – "


def translate_rows(rows: Iterable[EditedRow]) -> list[EditedRow]:
    """Translate reasons, field names and values in place. The rows must not be saved afterwards."""
    all_rows = list(rows)
    for row in all_rows:
        row.reason = format_stored_error(row.reason, FIELD_LABELS)
        row.changes = [[_(name), _format_value(name, old), _format_value(name, new)] for name, old, new in row.changes]
    return all_rows


def _format_value(name: str, text: str) -> str:
    """Translate or localize a value. The value of an amount field may be a range."""
    if name in AMOUNTS.values():
        return _RANGE_SEPARATOR.join(map(languages.localize_stored_amount, text.split(_RANGE_SEPARATOR)))
    return translate_stored(text) if name in _STATUS_FIELDS else text
