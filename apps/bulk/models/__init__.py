"""The tables of bulk edits."""

from apps.bulk.models.edits import LABELS, BulkEdit, EditedRow

__all__ = ["LABELS", "BulkEdit", "EditedRow"]
