"""Models for imports and exports."""

from apps.imports_exports.models.files import (
    EXPORTS,
    IMPORTS,
    LIST_FORMATS,
    Export,
    Format,
    Import,
    ImportedRow,
    new_key,
    resource_labels,
)

__all__ = [
    "EXPORTS",
    "IMPORTS",
    "LIST_FORMATS",
    "Export",
    "Format",
    "Import",
    "ImportedRow",
    "new_key",
    "resource_labels",
]
