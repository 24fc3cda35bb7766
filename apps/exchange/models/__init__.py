"""The tables of imports and exports."""

from apps.exchange.models.files import EXPORTS, IMPORTS, LABELS, OF_MANY, Export, Format, Import, ImportedRow, new_key

__all__ = ["EXPORTS", "IMPORTS", "LABELS", "OF_MANY", "Export", "Format", "Import", "ImportedRow", "new_key"]
