"""Row locks, which allow one writer at a time for an aggregate, and timeouts for waiting on locks."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.core.exceptions import ObjectDoesNotExist
from django.db import DatabaseError, connection, models, transaction

from apps.core.db.transient_errors import is_transient_db_error
from apps.core.exceptions import RowDeleted
from apps.core.models import M


def refresh_for_update(row: models.Model, *, no_key: bool = False) -> None:
    """Lock a loaded row, and refresh the instance. Raise ``RowDeleted`` if the row was deleted.

    Call this before comparing or merging with stored values, because values read before the lock may be outdated. With
    ``no_key``, other transactions can still add rows that refer to this row.
    """
    rows = type(row)._default_manager.select_for_update(no_key=no_key)
    try:
        row.refresh_from_db(from_queryset=rows)
    except ObjectDoesNotExist:
        raise RowDeleted from None


def get_for_update(model: type[M], pk: object, *, no_key: bool = False) -> M:
    """Lock a row until the transaction ends, and return it, or raise ``RowDeleted``. SQLite allows only one writer.

    Shop-owned rows are looked up in the current shop. With ``no_key``, other transactions can still refer to this row.
    """
    rows: models.Manager[M] = model._default_manager
    row = rows.select_for_update(no_key=no_key).filter(pk=pk).first()
    if row is None:
        raise RowDeleted
    return row


def run_unless_locked(update: Callable[[], object]) -> None:
    """Run an optional update, for example during a read. Skip the update if a writer has locked the row."""
    try:
        with _without_waiting():
            update()
    except DatabaseError as error:
        if not is_transient_db_error(error):
            raise


@contextmanager
def _without_waiting() -> Iterator[None]:
    """Open a transaction that fails instead of waiting for a lock."""
    if connection.vendor == "postgresql":
        with transaction.atomic():
            set_lock_timeout("10ms")
            yield
            set_lock_timeout("DEFAULT")
        return
    with connection.cursor() as cursor:
        busy_timeout = cursor.execute("PRAGMA busy_timeout").fetchone()[0]
        cursor.execute("PRAGMA busy_timeout = 0")
        try:
            with transaction.atomic():
                yield
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {busy_timeout}")


def set_lock_timeout(time: str) -> None:
    """Set the lock timeout for this transaction: ``2s``, ``10ms``, or ``DEFAULT`` for the server's setting.

    This has no effect on SQLite. There, writers wait at the beginning of a transaction, up to the connection's busy
    timeout.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout TO {time if time == 'DEFAULT' else repr(time)}")
