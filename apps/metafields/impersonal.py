"""Columns that hold no words of customers: the names of fields.

See ``apps.ground.personal``.
"""

from apps.ground.personal import Places

IMPERSONAL: Places = {
    "metafields.Metafield": ("owner_resource", "namespace", "key", "type"),
}
