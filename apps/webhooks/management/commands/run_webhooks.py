"""``manage.py run_webhooks``: deliver webhooks until stopped."""

import asyncio
import signal
import sys
from typing import Any

import uvloop
from django.core.management.base import BaseCommand, CommandParser

from apps.webhooks.domain.engine.dispatcher.dispatcher import Dispatcher
from apps.webhooks.domain.engine.dispatcher.endpoint_slots import SLOTS


class Command(BaseCommand):
    help = "Deliver webhooks until stopped. On shutdown, wait up to ten seconds for running deliveries."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--slots", type=int, default=SLOTS, help="maximum number of concurrent calls")

    def handle(self, *args: Any, **options: Any) -> None:
        # Switch threads more often, so that database threads do not delay the event loop.
        sys.setswitchinterval(0.001)
        uvloop.run(_run(Dispatcher(options["slots"])))


async def _run(dispatcher: Dispatcher) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, dispatcher.stop)
    await dispatcher.run()
