"""What the scheduler has done at fixed times: domains register their duties, and one that fails stops no other."""

import logging
from collections.abc import Callable
from datetime import datetime

from django.utils import timezone

from apps.ground.tenancy import every_shop

logger = logging.getLogger(__name__)

# Takes the time and returns how many rows it saw to; sees every shop.
Duty = Callable[[datetime], int]


class Duties:
    """The duties of one time, each under its name."""

    def __init__(self) -> None:
        """There are none yet."""
        self._duties: dict[str, Duty] = {}

    def register(self, name: str, duty: Duty) -> None:
        """Add a duty."""
        self._duties[name] = duty

    def run_all(self, at: datetime | None = None) -> None:
        """Do every duty; one that fails keeps no other from its turn."""
        for name, duty in self._duties.items():
            try:
                with every_shop():
                    logger.info("%s: %d", name, duty(at or timezone.now()))
            except Exception:
                logger.exception("%s: failed", name)


# Each minute: what falls due by the clock, such as a call to a warehouse.
each_minute = Duties()
# Each night: what asks others about all that there is, such as the books of payment gateways.
each_night = Duties()
