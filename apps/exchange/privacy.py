"""Declare which import and export columns never contain personal data.

See ``apps.ground.privacy_registry``.
"""

from apps.ground.privacy_registry import ColumnsByModel

NON_PERSONAL_COLUMNS: ColumnsByModel = {
    "exchange.Export": ("kind", "key", "file", "parts"),
    "exchange.Import": ("digest", "key", "actor", "counts", "passed_over"),
    "exchange.ImportedRow": ("kind",),
}
