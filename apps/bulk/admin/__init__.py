"""The staff face of bulk edits."""

from apps.bulk.admin.choosing import edit_chosen
from apps.bulk.admin.edits import BulkEditAdmin

__all__ = ["BulkEditAdmin", "edit_chosen"]
