"""Panel pages for bulk edits."""

from apps.bulk.admin.edits import BulkEditAdmin
from apps.bulk.admin.selection import edit_selected

__all__ = ["BulkEditAdmin", "edit_selected"]
