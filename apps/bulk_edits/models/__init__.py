from apps.bulk_edits.models.edits import BulkEdit, EditedRow, target_labels
