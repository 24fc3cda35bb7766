"""Nightly proof that what is kept for speed says what it was worked out from; each domain registers its checks.

Nothing is mended: a difference is a defect somewhere, and mending it would hide where.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from apps.ground.tenancy import every_shop

logger = logging.getLogger(__name__)

# Yields a sentence for each difference, which names the shop and the row.
Check = Callable[[], Iterable[str]]
_checks: dict[str, Check] = {}


def register(name: str, check: Check) -> None:
    """Add a check; it reads all shops and writes nothing."""
    _checks[name] = check


def names() -> list[str]:
    """What is checked."""
    return list(_checks)


def differences(only: Collection[str] | None = None) -> Iterator[str]:
    """All that does not agree, as sentences; each check sees the database as it is at one moment.

    Args:
        only: The names of some checks; all where omitted.
    """
    for name, check in _checks.items():
        if only is not None and name not in only:
            continue
        with every_shop(), _snapshot():
            found = list(check())
        yield from (f"{name}: {sentence}" for sentence in found)


def report() -> int:
    """Log all that does not agree; returns how much that is."""
    found = list(differences())
    for difference in found:
        logger.error("Reconciliation: %s", difference)
    logger.info("Reconciliation: %d checks, %d differences", len(_checks), len(found))
    return len(found)


@contextmanager
def _snapshot() -> Iterator[None]:
    """Show the database as it is now, whatever others change meanwhile, and refuse to write.

    A transaction around it stays as it is.
    """
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute("SET LOCAL statement_timeout = 0")
            yield
    else:
        # An ordinary transaction would keep every writer out.
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA query_only = ON")
            cursor.execute("BEGIN DEFERRED")
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")
                cursor.execute("PRAGMA query_only = OFF")
