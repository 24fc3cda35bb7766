"""Holding the root of an aggregate, so that its parts have one writer at a time; and not waiting for others."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.core.exceptions import ObjectDoesNotExist
from django.db import DatabaseError, connection, models, transaction

from apps.ground.errors import Gone
from apps.ground.outages import is_outage
from apps.ground.rows import M


def reread(row: models.Model, *, no_key: bool = False) -> None:
    """Hold a row that was read before, and bring the object up to what the row is now.

    Whoever compares or merges with what is stored calls this first: what was read before the lock may be old.

    Args:
        row: Updated in place.
        no_key: Whether rows that refer to it may still be added meanwhile.

    Raises:
        Gone: It was deleted meanwhile.
    """
    rows = type(row)._default_manager.select_for_update(no_key=no_key)
    try:
        row.refresh_from_db(from_queryset=rows)
    except ObjectDoesNotExist:
        raise Gone from None


def locked(model: type[M], pk: object, *, no_key: bool = False) -> M:
    """The row as it is now, held until the transaction ends; on SQLite writers wait for each other anyway.

    Args:
        model: Whose row; a shop's one is looked up in the current shop.
        pk: Its primary key.
        no_key: Whether rows that refer to it may still be added meanwhile.

    Raises:
        Gone: It was deleted meanwhile.
    """
    rows: models.Manager[M] = model._default_manager
    row = rows.select_for_update(no_key=no_key).filter(pk=pk).first()
    if row is None:
        raise Gone
    return row


def unless_busy(note: Callable[[], object]) -> None:
    """Make a note that is a reader's by the way; it is left out where it would have to wait for a writer."""
    try:
        with _at_once():
            note()
    except DatabaseError as error:
        if not is_outage(error):
            raise


@contextmanager
def _at_once() -> Iterator[None]:
    """A transaction that fails where it must wait for a lock."""
    if connection.vendor == "postgresql":
        with transaction.atomic():
            wait_at_most("10ms")
            yield
            wait_at_most("DEFAULT")
        return
    with connection.cursor() as cursor:
        patience = cursor.execute("PRAGMA busy_timeout").fetchone()[0]
        cursor.execute("PRAGMA busy_timeout = 0")
        try:
            with transaction.atomic():
                yield
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {patience}")


def wait_at_most(time: str) -> None:
    """Bound each further wait for a lock of this transaction: ``2s``, ``10ms``, or ``DEFAULT`` for the setting's.

    SQLite's writers wait at the beginning of their transaction, as long as their connection is told to.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout TO {time if time == 'DEFAULT' else repr(time)}")
