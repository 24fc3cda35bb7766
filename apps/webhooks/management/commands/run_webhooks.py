"""``manage.py run_webhooks``: deliver webhooks until told to stop."""

import asyncio
import signal
import sys
from typing import Any

import uvloop
from django.core.management.base import BaseCommand, CommandParser

from apps.webhooks.domain.engine.loop.dispatching import Dispatcher
from apps.webhooks.domain.engine.loop.lanes import SLOTS


class Command(BaseCommand):
    """Fans events out and delivers them. Several at once, on several machines, share the work."""

    help = "Deliver webhooks until told to stop; what is under way is finished first, for at most ten seconds."

    def add_arguments(self, parser: CommandParser) -> None:
        """How much at once."""
        parser.add_argument("--slots", type=int, default=SLOTS, help="how many calls may be under way at once")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the loop."""
        # The loop must not wait long for a thread that works on rows.
        sys.setswitchinterval(0.001)
        uvloop.run(_run(Dispatcher(options["slots"])))


async def _run(dispatcher: Dispatcher) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, dispatcher.stop)
    await dispatcher.run()
