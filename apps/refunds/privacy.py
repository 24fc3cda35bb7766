"""Declare which text columns of refunds never contain personal data (see ``apps.ground.privacy_registry``)."""

from apps.ground.privacy_registry import ColumnsByModel

NON_PERSONAL_COLUMNS: ColumnsByModel = {
    "refunds.OrderAdjustment": ("reason",),
    "refunds.BogusMovement": ("currency", "message"),
}
