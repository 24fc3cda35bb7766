"""Format the results of import rows for staff. Stored names of fields are those of the REST API."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from apps.core.admin.display.fields import Models, format_field_value, get_field_label
from apps.core.admin.forms.error_display import format_message
from apps.core.admin.permissions import has_permission
from apps.core.i18n.messages import PART_ERROR, Message, decode, get_items
from apps.imports_exports.domain.resources import get_importers
from apps.imports_exports.models import ImportedRow
from apps.imports_exports.resources.cells import VARIANT

# Fields that name an object that does not exist yet. The first group of fields with a value is used.
_NAME_FIELDS = (("first_name", "last_name"), ("email",), ("phone",), ("order",), ("title",))


@dataclass(frozen=True, slots=True)
class RowDisplay:
    line: int
    kind: str
    fate: str
    label: str
    reasons: list[str]
    changes: list[tuple[str, str, str]]
    link: str

    @property
    def reason(self) -> str:
        return " ".join(self.reasons)


def display_rows(rows: Iterable[ImportedRow]) -> list[RowDisplay]:
    """Format import rows in the user's language."""
    return [
        RowDisplay(
            line=row.line,
            kind=row.kind_label,
            fate=row.get_fate_display(),
            label=row.label.localize() if isinstance(row.label, Message) else row.label,
            reasons=_format_reasons(row),
            changes=_format_changes(row.changes, _get_models(row.kind)),
            link=row.link,
        )
        for row in rows
    ]


def format_reason(row: ImportedRow) -> str:
    """Format the reason of a row's result in the user's language."""
    return format_message(row.reason, _get_models(row.kind))


def _format_reasons(row: ImportedRow) -> list[str]:
    reason = row.reason
    items = get_items(reason) if isinstance(reason, Message) else [reason]
    return [format_message(item, _get_models(row.kind)) for item in items if item]


def _format_changes(changes: Iterable[Sequence[Any]], models: Models) -> list[tuple[str, str, str]]:
    return [
        (_format_name(_decode(name), models), _format_value(name, old, models), _format_value(name, new, models))
        for name, old, new in changes
    ]


def _get_models(kind: str) -> Models:
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
    text = _decode(value)
    if isinstance(text, Message):
        return text.localize()
    field = _decode(name)
    while isinstance(field, Message) and field.code == PART_ERROR.code:
        field = field.get_text("error")
    if isinstance(field, Message):
        # The value of a new variant is its price. All other values with a message as the name are plain.
        field = "price" if field.code == VARIANT.code else ""
    if field.endswith("_consent"):
        return _(text.replace("_", " ").capitalize()) if text else ""
    return format_field_value(field, text, models)


def add_labels_and_links(rows: Iterable[ImportedRow], request: HttpRequest) -> list[ImportedRow]:
    """Set ``label`` to the object's current name, and ``link`` to the object's page if the user may view this page."""
    all_rows = list(rows)
    for kind in {row.kind for row in all_rows if row.kind in get_importers()}:
        kind_rows = [row for row in all_rows if row.kind == kind]
        importer = get_importers()[kind]
        objects = importer.find({row.label for row in kind_rows if row.label})
        for row in kind_rows:
            if (row_object := objects.get(row.label)) is None:
                row.label = importer.describe_missing(row.label) or _get_new_name(row)
                continue
            app, model = row_object._meta.app_label, row_object._meta.model_name
            row.label = str(row_object)
            if has_permission(request, f"{app}.view_{model}"):
                row.link = reverse(f"admin:{app}_{model}_change", args=[row_object.pk])
    return all_rows


def _get_new_name(row: ImportedRow) -> str:
    """Return the name of the object that a validated row would create."""
    new_values = {name: new for name, _, new in row.changes if isinstance(name, str)}
    names_in_words = (" ".join(filter(None, map(new_values.get, names))) for names in _NAME_FIELDS)
    return next(filter(None, names_in_words), "")
