"""Nightly consistency checks of derived data; each domain registers its checks.

Nothing is repaired: a difference means a bug, and a repair would hide where the bug is.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from apps.ground.tenancy import all_shops_scope

logger = logging.getLogger(__name__)

# A function that yields a sentence for each difference, with the shop and the row.
Check = Callable[[], Iterable[str]]
_checks: dict[str, Check] = {}


def register_consistency_check(name: str, check: Check) -> None:
    """Register a check; a check reads all shops and writes nothing."""
    _checks[name] = check


def get_check_names() -> list[str]:
    """Return the names of the checks."""
    return list(_checks)


def find_differences(only: Collection[str] | None = None) -> Iterator[str]:
    """Yield all differences as sentences; each check sees one snapshot of the database.

    Args:
        only: The names of the checks to run; all if omitted.
    """
    for name, check in _checks.items():
        if only is not None and name not in only:
            continue
        with all_shops_scope(), _snapshot():
            sentences = list(check())
        yield from (f"{name}: {sentence}" for sentence in sentences)


def log_differences() -> int:
    """Log all differences and return their number."""
    sentences = list(find_differences())
    for difference in sentences:
        logger.error("Reconciliation: %s", difference)
    logger.info("Reconciliation: %d checks, %d differences", len(_checks), len(sentences))
    return len(sentences)


@contextmanager
def _snapshot() -> Iterator[None]:
    """Read from a snapshot of the database, and reject writes.

    A surrounding transaction is used unchanged.
    """
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute("SET LOCAL statement_timeout = 0")
            yield
    else:
        # An ordinary transaction would block all writers.
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA query_only = ON")
            cursor.execute("BEGIN DEFERRED")
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")
                cursor.execute("PRAGMA query_only = OFF")
