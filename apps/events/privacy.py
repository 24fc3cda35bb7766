"""Declare which text columns of events never contain personal data.

See ``apps.ground.privacy_registry``.
"""

from apps.ground.privacy_registry import ColumnsByModel

NON_PERSONAL_COLUMNS: ColumnsByModel = {
    "events.Event": ("topic", "subject_type", "subject_label", "actor", "message", "request_id"),
}
