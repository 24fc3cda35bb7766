"""Metafield columns that, unlike the values, never contain customers' personal data.

See ``apps.ground.privacy_registry``.
"""

from apps.ground.privacy_registry import ColumnsByModel

NON_PERSONAL_COLUMNS: ColumnsByModel = {
    "metafields.Metafield": ("owner_resource", "namespace", "key", "type"),
}
