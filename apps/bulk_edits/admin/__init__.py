"""Panel pages for bulk edits."""

from apps.bulk_edits.admin.edits import BulkEditAdmin
from apps.bulk_edits.admin.selection import edit_selected

__all__ = ["BulkEditAdmin", "edit_selected"]
