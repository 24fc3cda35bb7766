from apps.bulk_edits.admin.edits import BulkEditAdmin, edit_selected
