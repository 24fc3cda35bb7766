"""The context of recorded events: request id, IP address and a group id."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property

import uuid6


@dataclass
class EventContext:
    """The request, task or command in which events are recorded."""

    request_id: str = ""
    address: str | None = None

    @cached_property
    def group(self) -> uuid.UUID:
        """Return the group id of all events in this context, created on first use."""
        return uuid6.uuid7()


# The id of the current request, in log lines and error messages.
request_id: ContextVar[str] = ContextVar("request_id", default="-")
# Functions that are called when an outermost context begins. This module must not import models.
start_functions: list[Callable[[], None]] = []
_cause: ContextVar[EventContext | None] = ContextVar("cause", default=None)


def get_event_context() -> EventContext:
    return _cause.get() or EventContext()


@contextmanager
def event_context(*, request_id: str = "", address: str | None = None) -> Iterator[EventContext]:
    if _cause.get() is None:
        for function in start_functions:
            function()
    context = EventContext(request_id, address)
    token = _cause.set(context)
    try:
        yield context
    finally:
        _cause.reset(token)
