"""Columns that hold no words of customers.

See ``apps.ground.personal``.
"""

from apps.ground.personal import Places

IMPERSONAL: Places = {
    "bulk.BulkEdit": ("kind", "ids", "actor", "problem"),
    "bulk.EditedRow": ("mark",),
}
