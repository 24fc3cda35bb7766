"""Columns that hold no words of customers: what happened, to what, by whom.

See ``apps.ground.personal``.
"""

from apps.ground.personal import Places

IMPERSONAL: Places = {
    "events.Event": ("topic", "subject_type", "subject_label", "actor", "message", "request_id"),
}
