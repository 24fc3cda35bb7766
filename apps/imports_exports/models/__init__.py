from apps.imports_exports.models.files import (
    EXPORTS,
    IMPORTS,
    Export,
    Format,
    Import,
    ImportedRow,
    resource_labels,
)

__all__ = [
    "EXPORTS",
    "IMPORTS",
    "Export",
    "Format",
    "Import",
    "ImportedRow",
    "resource_labels",
]
