"""What an event notes of the request that caused it: its id, its address, and the action it is part of."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property

import uuid6


@dataclass
class Cause:
    """The request, task or command in which events are recorded."""

    request_id: str = ""
    address: str | None = None

    @cached_property
    def group(self) -> uuid.UUID:
        """Shared by all events of one cause; made when the first is recorded."""
        return uuid6.uuid7()


_cause: ContextVar[Cause | None] = ContextVar("cause", default=None)


def current_cause() -> Cause:
    """The cause we are in; outside of any, one of its own."""
    return _cause.get() or Cause()


@contextmanager
def cause(*, request_id: str = "", address: str | None = None) -> Iterator[Cause]:
    """Within it, all recorded events name this request and share one group."""
    here = Cause(request_id, address)
    token = _cause.set(here)
    try:
        yield here
    finally:
        _cause.reset(token)
