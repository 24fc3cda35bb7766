"""Columns that hold no words of customers: what is to be done.

See ``apps.ground.personal``.
"""

from apps.ground.personal import Places

IMPERSONAL: Places = {
    "jobs.Job": ("task", "arguments", "actor"),
}
