"""Periodic tasks of the scheduler; domains register their tasks, and a failing task does not stop the others."""

import logging
from collections.abc import Callable
from datetime import datetime

from django.utils import timezone

from apps.ground.tenancy import all_shops_scope

logger = logging.getLogger(__name__)

# A function that takes the current time and returns the number of processed rows; runs in the all-shops scope.
PeriodicTask = Callable[[datetime], int]


class PeriodicTasks:
    """A registry of tasks with the same interval."""

    def __init__(self) -> None:
        self._duties: dict[str, PeriodicTask] = {}

    def register(self, name: str, task: PeriodicTask) -> None:
        self._duties[name] = task

    def run_all(self, at: datetime | None = None) -> None:
        """Run every task; log failures and continue."""
        for name, task in self._duties.items():
            try:
                with all_shops_scope():
                    logger.info("%s: %d", name, task(at or timezone.now()))
            except Exception:
                logger.exception("%s: failed", name)


# Tasks that run every minute, for work that is due at a certain time, such as calls to a warehouse.
minute_tasks = PeriodicTasks()
# Tasks that run every night and query external services, such as the records of payment gateways.
nightly_tasks = PeriodicTasks()
