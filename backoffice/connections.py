"""Database connections that end with their thread.

The server ends threads that have had nothing to do for a while. A thread's connection would outlive it until the
garbage collector comes by, because Django's objects around it refer to each other: after some bursts of requests the
database would run out of connections.
"""

import contextlib
import os
import threading
from typing import Any

from django.db.backends.signals import connection_created

_here = threading.local()


class _Closer:
    """Belongs to one thread alone, so it goes at the thread's end; it takes the connection along."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._process = os.getpid()

    def __del__(self) -> None:
        # A forked process must not hang up for its parent.
        if os.getpid() == self._process:
            with contextlib.suppress(Exception):
                self._raw.close()


def _bind(connection: Any, **_: Any) -> None:
    setattr(_here, connection.alias, _Closer(connection.connection))


def end_with_threads() -> None:
    """Let each connection that is opened from now on end with the thread that opened it."""
    connection_created.connect(_bind, dispatch_uid="connections end with threads")


def outlive_threads() -> None:
    """Take it back."""
    connection_created.disconnect(dispatch_uid="connections end with threads")
