"""Models for imports and exports."""

from apps.exchange.models.files import (
    EXPORTS,
    IMPORTS,
    LIST_FORMATS,
    RESOURCE_LABELS,
    Export,
    Format,
    Import,
    ImportedRow,
    new_key,
)

__all__ = [
    "EXPORTS",
    "IMPORTS",
    "LIST_FORMATS",
    "RESOURCE_LABELS",
    "Export",
    "Format",
    "Import",
    "ImportedRow",
    "new_key",
]
