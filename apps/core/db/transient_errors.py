"""Recognize transient errors, after which the same request may succeed later."""

import errno
from collections.abc import Iterator

from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, OperationalError, connection, connections

# The recommended wait before a retry, in seconds.
RETRY_AFTER = "2.0"

# The error message of the database trigger that prevents writes to a read-only shop.
READ_ONLY_ERROR = "the shop can only be read"
SHOP_MOVING_MESSAGE = "This shop is being moved and is read-only for now. Try again later."

_DISK_FULL_CODES = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
# The SQLSTATE codes of conflicts between transactions: serialization failure, deadlock.
_ROLLBACK_CODES = frozenset({"40001", "40P01"})


def is_transient_db_error(error: BaseException | None) -> bool:
    """Return True if the database refused or closed the connection, timed out, or rolled the transaction back.

    The function accepts the driver's exceptions and Django's wrappers. Some errors that the driver classifies as
    programming errors are transient, too: the server ended the transaction (timeout), the server is a read-only
    standby, or a table changed after a statement was prepared.
    """
    return any(
        _is_operational(cause) or _get_sqlstate(cause)[:2] == "25" or is_stale_plan(cause)
        for cause in _iterate_causes(error)
    )


def is_disk_full(error: BaseException | None) -> bool:
    return any(isinstance(cause, OSError) and cause.errno in _DISK_FULL_CODES for cause in _iterate_causes(error))


def is_rolled_back(error: BaseException) -> bool:
    """Return True if the database rolled the transaction back because of a conflict. A retry may succeed."""
    return any(_get_sqlstate(cause) in _ROLLBACK_CODES or is_stale_plan(cause) for cause in _iterate_causes(error))


def is_stale_plan(error: BaseException) -> bool:
    """Return True if a column changed after the statement was prepared. The error occurs each time it runs."""
    return "cached plan must not change result type" in str(error)


def is_lock_timeout(error: BaseException) -> bool:
    return any(
        _get_sqlstate(cause) == "55P03" or "database is locked" in str(cause) for cause in _iterate_causes(error)
    )


def is_read_only_shop_error(error: BaseException | None) -> bool:
    """Return True if the error means that the shop is read-only (see ``apps.core.tenancy.read_only``)."""
    return any(READ_ONLY_ERROR in str(cause) for cause in _iterate_causes(error))


def _is_operational(error: BaseException) -> bool:
    driver = connections[DEFAULT_DB_ALIAS].Database  # type: ignore[attr-defined]
    return isinstance(error, OperationalError | InterfaceError | driver.OperationalError | driver.InterfaceError)


def _get_sqlstate(error: BaseException) -> str:
    """Return PostgreSQL's SQLSTATE code of a driver error, or "" for other errors."""
    return getattr(error, "sqlstate", None) or ""


def _iterate_causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def recover_from_transient_error(error: DatabaseError) -> None:
    """Close the connection if it was lost, so that the next query opens a new one. Raise errors of other kinds."""
    if not is_transient_db_error(error):
        raise error
    if not connection.in_atomic_block and not connection.is_usable():
        connection.close()
