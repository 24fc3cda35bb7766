"""Threads beside the event loop that talk to the database, one for each purpose."""

import asyncio
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from django.db import connection

from apps.ground.outages import is_outage

T = TypeVar("T")


class Threads:
    """One thread for each name; each has a connection of its own."""

    def __init__(self, *names: str) -> None:
        """Of these names."""
        self._threads = {name: ThreadPoolExecutor(1, f"webhooks-{name}") for name in names}

    async def run(self, name: str, work: Callable[..., T], *arguments: Any) -> T:
        """Run something in a thread; a connection that failed is closed."""
        call = functools.partial(_with_database, work, *arguments)
        return await asyncio.get_running_loop().run_in_executor(self._threads[name], call)

    async def end(self) -> None:
        """Close the connections, and end."""
        for thread in self._threads.values():
            await asyncio.get_running_loop().run_in_executor(thread, _hang_up)
            thread.shutdown()


def _with_database(work: Callable[..., T], *arguments: Any) -> T:
    try:
        return work(*arguments)
    except Exception as error:
        if is_outage(error):
            connection.close()
        raise


def _hang_up() -> None:
    """Close this thread's connection, which no other may."""
    connection.close()
