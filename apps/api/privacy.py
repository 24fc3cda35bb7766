"""Declare which text columns of idempotency keys contain no personal data.

See ``apps.ground.privacy_registry``.
"""

from apps.ground.privacy_registry import ColumnsByModel

NON_PERSONAL_COLUMNS: ColumnsByModel = {
    "api.IdempotencyKey": ("key", "fingerprint", "location", "path", "request_id"),
}
