"""The tables of imports and exports."""

from apps.exchange.models.files import LABELS, Export, Format, Import, ImportedRow, new_key

__all__ = ["LABELS", "Export", "Format", "Import", "ImportedRow", "new_key"]
