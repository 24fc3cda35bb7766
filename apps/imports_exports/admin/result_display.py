"""Format the results of import rows for staff. Stored names of fields are those of the REST API."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from apps.core.admin.display.fields import Models, format_field_value, get_field_label
from apps.core.admin.forms.error_display import format_message
from apps.core.i18n.messages import PART_ERROR, Message, decode
from apps.imports_exports.domain.resources import get_importers
from apps.imports_exports.models import ImportedRow
from apps.imports_exports.resources.cells import VARIANT

_CONSENT_SUFFIX = "_consent"


@dataclass(frozen=True, slots=True)
class RowDisplay:
    """An import row for display.

    Attributes:
        line: The number of the row's first line in the file.
        kind: The name of the resource.
        fate: The result of the row.
        label: The name of the object.
        reason: The reason why the row was skipped or failed.
        changes: The field, old value and new value of each change.
        link: The URL of the object's page, if there is one.
    """

    line: int
    kind: str
    fate: str
    label: str
    reason: str
    changes: list[tuple[str, str, str]]
    link: str


def display_rows(rows: Iterable[ImportedRow]) -> list[RowDisplay]:
    """Format import rows in the user's language."""
    return [
        RowDisplay(
            line=row.line,
            kind=row.kind_label,
            fate=row.get_fate_display(),
            label=row.label.localize() if isinstance(row.label, Message) else row.label,
            reason=format_message(row.reason, _get_models(row.kind)),
            changes=_format_changes(row.changes, _get_models(row.kind)),
            link=row.link,
        )
        for row in rows
    ]


def _format_changes(changes: Iterable[Sequence[Any]], models: Models) -> list[tuple[str, str, str]]:
    return [
        (_format_name(_decode(name), models), _format_value(name, old, models), _format_value(name, new, models))
        for name, old, new in changes
    ]


def _get_models(kind: str) -> Models:
    """Return the models that have the fields of a resource."""
    importer = get_importers().get(kind)
    return () if importer is None else importer.models


def _decode(value: Any) -> str:
    """Return a name or value from a preview: text, or a message."""
    return value if isinstance(value, str) else decode(value)


def _format_name(name: str, models: Models) -> str:
    """Return the label of a field, or the translated name of a part and the label of its field."""
    if not isinstance(name, Message):
        return get_field_label(name, models)
    if name.code == PART_ERROR.code:
        return f"{name.get('part').localize()}: {_format_name(name.get_text('error'), models)}"
    return name.localize()


def _format_value(name: Any, value: Any, models: Models) -> str:
    """Translate or localize a value of the field ``name``."""
    text = _decode(value)
    if isinstance(text, Message):
        return text.localize()
    field = _decode(name)
    while isinstance(field, Message) and field.code == PART_ERROR.code:
        field = field.get_text("error")
    if isinstance(field, Message):
        # The value of a new variant is its price. All other values with a message as the name are plain.
        field = "price" if field.code == VARIANT.code else ""
    if field.endswith(_CONSENT_SUFFIX):
        return _(text.replace("_", " ").capitalize()) if text else ""
    return format_field_value(field, text, models)
