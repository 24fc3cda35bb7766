"""Run periodic tasks without a scheduler."""

from datetime import datetime

from apps.core.jobs.periodic_tasks import Every, periodic_tasks, run_periodic_task


def run_periodic_tasks(every: Every, at: datetime | None = None) -> None:
    """Run all tasks that run at the same interval."""
    for name, task in periodic_tasks.items():
        if task.every == every:
            run_periodic_task(name, at)
