"""Background tasks for bulk edits."""

from apps.bulk.domain import edits, runner
from apps.jobs.domain import housekeeping


def register_bulk_tasks() -> None:
    runner.register_edit_tasks()
    housekeeping.register_hourly_task("bulk edits", edits.delete_old_edits)
