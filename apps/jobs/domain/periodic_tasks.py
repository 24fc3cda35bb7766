"""Registry for periodic tasks. Each domain app registers its tasks. A failing task does not stop other tasks."""

import logging
from collections.abc import Callable
from datetime import datetime

from django.utils import timezone

from apps.ground.tenancy import all_shops_scope

logger = logging.getLogger(__name__)

# A function that receives the current time and returns the number of processed rows. It runs in the all-shops scope.
PeriodicTask = Callable[[datetime], int]


class PeriodicTasks:
    """A registry of tasks that run at the same interval."""

    def __init__(self) -> None:
        self._duties: dict[str, PeriodicTask] = {}

    def register(self, name: str, task: PeriodicTask) -> None:
        self._duties[name] = task

    def run_all(self, at: datetime | None = None) -> None:
        """Run every task. If a task fails, log the failure and continue."""
        for name, task in self._duties.items():
            try:
                with all_shops_scope():
                    logger.info("%s: %d", name, task(at or timezone.now()))
            except Exception:
                logger.exception("%s: failed", name)


# Tasks that run every minute, for work that is due at a certain time, such as calls to a warehouse.
minute_tasks = PeriodicTasks()
# Tasks that run every night, for queries to external services, such as payment gateways.
nightly_tasks = PeriodicTasks()
