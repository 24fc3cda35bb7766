"""Add the object's name and a link to the object's page to import rows."""

from collections.abc import Iterable

from django.http import HttpRequest
from django.urls import reverse

from apps.core.admin.permissions import has_permission
from apps.imports_exports.domain.resources import get_importers
from apps.imports_exports.models import ImportedRow

# Fields that name an object that does not exist yet. The first group of fields with a value is used.
_NAME_FIELDS = (("first_name", "last_name"), ("email",), ("phone",), ("order",), ("title",))


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
