"""Nightly consistency checks of derived data. Each domain app registers its checks.

The checks report differences but do not repair them, because a repair would hide the bug that caused a difference.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from apps.ground.tenancy import all_shops_scope

logger = logging.getLogger(__name__)

# A function that yields a sentence for each difference. The sentence names the shop and the row.
Check = Callable[[], Iterable[str]]
_checks: dict[str, Check] = {}


def register_consistency_check(name: str, check: Check) -> None:
    """Register a check. A check can read the rows of all shops and must not write."""
    _checks[name] = check


def get_check_names() -> list[str]:
    """Return the names of the checks."""
    return list(_checks)


def find_differences(only: Collection[str] | None = None) -> Iterator[str]:
    """Yield all differences as sentences. Each check reads from one database snapshot.

    Args:
        only: The names of the checks to run. By default all checks run.
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
    """Read from a database snapshot and reject writes.

    Inside an open transaction, this context manager has no effect.
    """
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute("SET LOCAL statement_timeout = 0")
            yield
    else:
        # Begin a deferred transaction, because an immediate or exclusive transaction would block all writers.
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA query_only = ON")
            cursor.execute("BEGIN DEFERRED")
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")
                cursor.execute("PRAGMA query_only = OFF")
