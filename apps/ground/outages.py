"""Which errors mean that something does not serve for the moment, so that the same request may succeed later."""

import errno
from collections.abc import Iterator

from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connections

# Seconds after which it is worth while to ask again.
RETRY_AFTER = "2.0"

# What the database says where a shop is read-only.
READ_ONLY = "the shop can only be read"
# What people are told then.
MOVING = "This shop is being moved, and can only be read for the moment."

_STALE_PLAN = "cached plan must not change result type"
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
# The database itself undid the transaction, for the sake of another one: serialization failure, deadlock.
_UNDONE = frozenset({"40001", "40P01"})


def is_outage(error: BaseException | None) -> bool:
    """Whether the database refused, hung up, gave up waiting or undid the transaction.

    Errors of its driver are told like those that Django makes of them.

    What the driver counts as its own errors is one as well where the transaction was ended from outside (a time-out, a
    standby that may only be read), or where a statement was prepared before a table changed.
    """
    return any(_is_operational(each) or _state(each)[:2] == "25" or is_stale_plan(each) for each in _chain(error))


def is_full(error: BaseException | None) -> bool:
    """Whether a disk has no room for what was to be written, such as an upload that comes in."""
    return any(isinstance(each, OSError) and each.errno in _FULL for each in _chain(error))


def is_undone(error: BaseException) -> bool:
    """Whether the database undid the transaction because of what others did meanwhile: the work may be done again."""
    return any(_state(each) in _UNDONE or is_stale_plan(each) for each in _chain(error))


def is_stale_plan(error: BaseException) -> bool:
    """Whether a statement was prepared before a column's type changed, which PostgreSQL reports at each further run."""
    return _STALE_PLAN in str(error)


def is_wait_over(error: BaseException) -> bool:
    """Whether a lock was not granted in time."""
    return any(_state(each) == "55P03" or "database is locked" in str(each) for each in _chain(error))


def is_read_only(error: BaseException | None) -> bool:
    """Whether a shop can only be read, see ``apps.shops.domain.read_only``; it is an outage too."""
    return any(READ_ONLY in str(each) for each in _chain(error))


def _is_operational(error: BaseException) -> bool:
    driver = connections[DEFAULT_DB_ALIAS].Database  # type: ignore[attr-defined]
    return isinstance(error, OperationalError | InterfaceError | driver.OperationalError | driver.InterfaceError)


def _state(error: BaseException) -> str:
    """PostgreSQL's code of an error of its driver; "" for others."""
    return getattr(error, "sqlstate", None) or ""


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and those that it was raised from."""
    while error is not None:
        yield error
        error = error.__cause__
