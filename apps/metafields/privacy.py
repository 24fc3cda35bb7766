"""Columns of metafields that contain no personal data of customers. Values of metafields may be personal.

See ``apps.ground.privacy_registry``.
"""

from apps.ground.privacy_registry import ColumnsByModel

NON_PERSONAL_COLUMNS: ColumnsByModel = {
    "metafields.Metafield": ("owner_resource", "namespace", "key", "type"),
}
