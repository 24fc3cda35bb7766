from apps.bulk_edits.admin.edits import BulkEditAdmin, edit_selected

__all__ = ["BulkEditAdmin", "edit_selected"]
