"""Threads for database work, one per purpose, so that queries do not block the event loop."""

import asyncio
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from django.db import connection

from apps.core.db.transient_errors import is_transient_db_error

T = TypeVar("T")


class DatabaseThreads:
    """Named threads, each with a separate database connection that stays open until ``shut_down``."""

    def __init__(self, *names: str) -> None:
        self._threads = {name: ThreadPoolExecutor(1, f"webhooks-{name}") for name in names}

    async def run(self, name: str, work: Callable[..., T], *arguments: Any) -> T:
        """Run a function in the thread with this name. If the database fails, close the thread's connection."""
        call = functools.partial(_with_database, work, *arguments)
        return await asyncio.get_running_loop().run_in_executor(self._threads[name], call)

    def call(self, name: str, work: Callable[..., T], *arguments: Any) -> T:
        """Run a function like ``run``, but block until it returns."""
        return self._threads[name].submit(_with_database, work, *arguments).result()

    def shut_down(self) -> None:
        for thread in self._threads.values():
            thread.submit(_close_connection).result()
            thread.shutdown()


def _with_database(work: Callable[..., T], *arguments: Any) -> T:
    try:
        return work(*arguments)
    except Exception as error:
        if is_transient_db_error(error):
            connection.close()
        raise


def _close_connection() -> None:
    """Close the current thread's connection, which no other thread may close."""
    connection.close()
