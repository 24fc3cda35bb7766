"""Threads in which the event loop runs database work, one per purpose."""

import asyncio
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from django.db import connection

from apps.ground.transient_errors import is_transient_db_error

T = TypeVar("T")


class DatabaseThreads:
    """Threads with names, each with its own database connection."""

    def __init__(self, *names: str) -> None:
        self._threads = {name: ThreadPoolExecutor(1, f"webhooks-{name}") for name in names}

    async def run(self, name: str, work: Callable[..., T], *arguments: Any) -> T:
        """Run a function in the thread with this name. If the database fails, close the thread's connection."""
        call = functools.partial(_with_database, work, *arguments)
        return await asyncio.get_running_loop().run_in_executor(self._threads[name], call)

    async def shut_down(self) -> None:
        """Close all connections, and stop the threads."""
        for thread in self._threads.values():
            await asyncio.get_running_loop().run_in_executor(thread, _close_connection)
            thread.shutdown()


def _with_database(work: Callable[..., T], *arguments: Any) -> T:
    try:
        return work(*arguments)
    except Exception as error:
        if is_transient_db_error(error):
            connection.close()
        raise


def _close_connection() -> None:
    """Close the connection of the current thread, because another thread must not close it."""
    connection.close()
