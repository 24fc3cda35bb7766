"""Format the results of import rows for staff.

Stored texts are in English and use the field names of the REST API.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.exchange.domain.resources import get_importers
from apps.exchange.models import ImportedRow
from apps.ground.stored_messages import translate_label, translate_stored
from apps.panel.error_display import format_stored_error
from apps.panel.field_display import Models, format_field_value, get_field_label

# Texts that the preview shows instead of a value.
_PLACEHOLDERS = frozenset({
    gettext_noop("yes"),
    gettext_noop("no"),
    gettext_noop("new"),
    gettext_noop("as in the file"),
    gettext_noop("added"),
})  # fmt: skip
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
            label=translate_label(row.label),
            reason=format_stored_error(row.reason, _get_fields(row.kind), _get_models(row.kind)),
            changes=_format_changes(row.changes, _get_models(row.kind)),
            link=row.link,
        )
        for row in rows
    ]


def _format_changes(changes: Iterable[tuple[str, str, str]], models: Models) -> list[tuple[str, str, str]]:
    return [
        (_format_name(name, models), _format_value(name, old, models), _format_value(name, new, models))
        for name, old, new in changes
    ]


@cache
def _get_fields(kind: str) -> frozenset[str]:
    """Return the field names that may occur in the ``reason`` of a row result for the resource."""
    importer = get_importers().get(kind)
    return frozenset() if importer is None else importer.members | frozenset(importer.columns)


def _get_models(kind: str) -> Models:
    """Return the models that have the fields of a resource."""
    importer = get_importers().get(kind)
    return () if importer is None else importer.models


def _format_name(name: str, models: Models) -> str:
    """Translate a field name. A field of a nested object follows the name of the object: ``image 1: alt``."""
    translated = translate_stored(name)
    if translated != name:
        return translated
    part, colon, field = name.rpartition(": ")
    return f"{translate_stored(part)}: {_format_name(field, models)}" if colon else get_field_label(name, models)


def _format_value(name: str, value: str, models: Models) -> str:
    field = name.rpartition(": ")[2]
    if value in _PLACEHOLDERS:
        return _(value)
    if name.endswith(_CONSENT_SUFFIX):
        return _(value.replace("_", " ").capitalize()) if value else ""
    if name == "…":
        return translate_stored(value)
    # The value of a new variant is its price, so format the value as a price.
    return format_field_value("price" if field.startswith("variant ") else field, value, models)
