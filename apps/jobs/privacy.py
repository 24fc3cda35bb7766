"""Declare which text columns of jobs never contain personal data.

See ``apps.ground.privacy_registry``.
"""

from apps.ground.privacy_registry import ColumnsByModel

NON_PERSONAL_COLUMNS: ColumnsByModel = {
    "jobs.Job": ("task", "arguments", "actor"),
}
