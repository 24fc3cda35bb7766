"""Columns that hold no words of customers: money, goods and reasons.

See ``apps.ground.personal``.
"""

from apps.ground.personal import Places

IMPERSONAL: Places = {
    "refunds.OrderAdjustment": ("reason",),
    "refunds.BogusMovement": ("currency", "message"),
}
