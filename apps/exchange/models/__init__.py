"""The tables of imports and exports."""

from apps.exchange.models.files import Export, ExportKind, Format, Import, ImportedRow, Kind, new_key

__all__ = ["Export", "ExportKind", "Format", "Import", "ImportedRow", "Kind", "new_key"]
