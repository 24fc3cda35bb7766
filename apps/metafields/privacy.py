"""Columns of metafields without customer data; values may be personal.

See ``apps.ground.privacy_registry``.
"""

from apps.ground.privacy_registry import ColumnsByModel

NON_PERSONAL_COLUMNS: ColumnsByModel = {
    "metafields.Metafield": ("owner_resource", "namespace", "key", "type"),
}
