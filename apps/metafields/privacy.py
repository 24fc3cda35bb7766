"""Which columns of metafields contain no customer data. Values of metafields may be personal.

See ``apps.ground.privacy_registry``.
"""

from apps.ground.privacy_registry import ColumnsByModel

NON_PERSONAL_COLUMNS: ColumnsByModel = {
    "metafields.Metafield": ("owner_resource", "namespace", "key", "type"),
}
