"""Models for bulk edits."""

from apps.bulk.models.edits import TARGET_LABELS, BulkEdit, EditedRow

__all__ = ["TARGET_LABELS", "BulkEdit", "EditedRow"]
