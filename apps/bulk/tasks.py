"""The background work of bulk edits."""

from apps.bulk.domain import edits, working
from apps.jobs.domain import housekeeping


def register_all() -> None:
    """Add the tasks, and what housekeeping clears."""
    working.register_all()
    housekeeping.register("bulk edits", edits.clear_old)
