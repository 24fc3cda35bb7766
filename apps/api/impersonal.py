"""Columns that hold no words of customers: the marks by which stored answers are found.

See ``apps.ground.personal``.
"""

from apps.ground.personal import Places

IMPERSONAL: Places = {
    "api.IdempotencyKey": ("key", "fingerprint", "location", "path", "request_id"),
}
