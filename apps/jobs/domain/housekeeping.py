"""Hourly clearing: each domain registers what it lets go of, and when."""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from django.utils import timezone

from apps.ground.tenancy import every_shop
from apps.jobs.models import Job

logger = logging.getLogger(__name__)

KEEP_FINISHED = timedelta(days=30)
BATCH = 1000

Clear = Callable[[datetime], int]
_duties: dict[str, Clear] = {}


def register(name: str, clear: Clear) -> None:
    """Add a duty: a function that takes the time and returns how many rows it cleared."""
    _duties[name] = clear


def run_all(at: datetime | None = None) -> None:
    """Do every duty; one that fails keeps no other from its turn."""
    for name, clear in _duties.items():
        try:
            with every_shop():
                logger.info("%s: cleared %d", name, clear(at or timezone.now()))
        except Exception:
            logger.exception("%s: failed", name)


def clear_finished_jobs(at: datetime) -> int:
    """Delete finished jobs after 30 days, in batches."""
    cleared = 0
    while ids := list(
        Job.objects.filter(finished_at__lt=at - KEEP_FINISHED).order_by("pk").values_list("pk", flat=True)[:BATCH]
    ):
        cleared += Job.objects.filter(pk__in=ids).delete()[0]
    return cleared
