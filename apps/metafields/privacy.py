"""Metafield columns that never contain personal data of customers. The values may contain such data.

See ``apps.ground.privacy_registry``.
"""

from apps.ground.privacy_registry import ColumnsByModel

NON_PERSONAL_COLUMNS: ColumnsByModel = {
    "metafields.Metafield": ("owner_resource", "namespace", "key", "type"),
}
