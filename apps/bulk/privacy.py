"""Declare which columns of bulk edits never contain personal data.

See ``apps.ground.privacy_registry``.
"""

from apps.ground.privacy_registry import ColumnsByModel

NON_PERSONAL_COLUMNS: ColumnsByModel = {
    "bulk.BulkEdit": ("kind", "ids", "actor", "problem"),
    "bulk.EditedRow": ("mark",),
}
