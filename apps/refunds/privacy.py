"""Text columns of the refunds app that contain no personal data, for ``apps.ground.privacy_registry``."""

from apps.ground.privacy_registry import ColumnsByModel

NON_PERSONAL_COLUMNS: ColumnsByModel = {
    "refunds.OrderAdjustment": ("reason",),
    "refunds.BogusMovement": ("currency", "message"),
}
