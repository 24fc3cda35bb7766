"""Read-only mode of a shop, for example while the shop moves to another installation.

Database triggers enforce the mode, so no request, job or overlooked statement can write to a read-only shop. The
triggers exist only while a shop is read-only, so writable shops have no overhead. ``make_read_only`` waits for writes
in progress: PostgreSQL creates a trigger after all transactions that wrote to the table have ended, and SQLite has a
single writer. After that, each transaction that tries to write rows of the shop is rolled back. Once ``make_read_only``
returns, all acknowledged writes are stored and no further write is possible.

A refused write looks like an outage: requests get status 503 with ``Retry-After``, and jobs are retried.

Workers may still write the results of work in progress, and housekeeping may delete expired rows
(``_ALLOWED_OPERATIONS``). Workers start no new work, because their queries only select ``writable_shops``. Rows without
a shop, such as users, sessions and apps, are not affected.
"""

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import chain

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, OperationalError, connection, models, transaction
from django.db.models import Q

from apps.core.db.row_locks import set_lock_timeout
from apps.core.db.transient_errors import READ_ONLY_ERROR, is_lock_timeout
from apps.core.exceptions import DomainError
from apps.core.registry import Registry
from apps.core.tenancy.models import Shop
from apps.core.tenancy.shop_owned import ShopOwned

# Functions that complete a shop once it is writable again, for example rows that a migration had to leave out.
writable_listeners = Registry[str, Callable[[Shop], object]]("listeners for shops that become writable")

_LOCK_SECONDS = 2
_ATTEMPTS = 5
_FUNCTION = "shops_refuse_while_read_only"
_OPERATIONS = ("INSERT", "UPDATE", "DELETE")
# Operations that are allowed in a read-only shop, keyed by model label. An operation is always allowed (True) or only
# under an SQL condition.
_ALLOWED_OPERATIONS: dict[str, dict[str, str | bool]] = {
    "jobs.Job": {"UPDATE": "OLD.state IN ('waiting', 'running') AND NEW.state <> 'cancelled'", "DELETE": True},
    "webhooks.Delivery": {"UPDATE": "OLD.state = 'leased'", "DELETE": True},
    "webhooks.Attempt": dict.fromkeys(_OPERATIONS, True),
    "webhooks.Payload": {"DELETE": True},
    "api.IdempotencyKey": {"DELETE": True},
    "bulk_edits.BulkEdit": {"DELETE": True},
    "bulk_edits.EditedRow": {"DELETE": True},
    "fulfillment.PullAttempt": {"DELETE": True},
    "shops.AuthorizationCode": {"DELETE": True},
    "shops.AccessToken": {"DELETE": True},
}


class TableBusy(DomainError):
    pass


def writable_shops(shop: str = "shop") -> Q:
    """Return a query condition for shops in which work may start. ``shop`` is the lookup path to the shop."""
    return ~Q(**{f"{shop}__in": Shop.objects.filter(read_only_at__isnull=False).values("pk")})


def make_read_only(shop: Shop, *, at: datetime) -> None:
    """Make a shop read-only once all writes in progress have ended.

    After a failure, call the function again to complete the change.

    Raises:
        TableBusy: A table could not be locked in time. The shop is partly read-only.
    """
    # Set this column first, so that workers start no new work. After that, creating the triggers waits for all
    # transactions in progress to end.
    Shop.objects.filter(pk=shop.pk, read_only_at=None).update(read_only_at=at)
    shop.refresh_from_db()
    _create_triggers(shop.pk)


def make_writable(shop: Shop) -> None:
    """Make the shop writable again, and call the listeners.

    Raises:
        TableBusy: A table could not be locked in time. The shop is still partly read-only.
    """
    _execute_per_table(lambda model: _get_drop_statements(model, shop.pk))
    Shop.objects.filter(pk=shop.pk).update(read_only_at=None)
    shop.refresh_from_db()
    for listener in writable_listeners.values():
        listener(shop)


def restore_triggers(using: str = "default", **_: object) -> None:
    """Recreate triggers that a migration dropped together with a table. Django calls this after each migration run."""
    tables = connection.introspection.table_names()
    if using != DEFAULT_DB_ALIAS or any(model._meta.db_table not in tables for model in _get_shop_models()):
        return
    with connection.cursor() as cursor:
        columns = connection.introspection.get_table_description(cursor, Shop._meta.db_table)
    if "read_only_at" in {column.name for column in columns}:
        for pk in Shop.objects.exclude(read_only_at=None).values_list("pk", flat=True):
            _create_triggers(pk)


def _create_triggers(shop_id: int) -> None:
    if connection.vendor == "postgresql":
        body = f"BEGIN RAISE EXCEPTION '{READ_ONLY_ERROR}' USING ERRCODE = 'read_only_sql_transaction'; END"
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE OR REPLACE FUNCTION {_FUNCTION}() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$")
    _execute_per_table(
        lambda model: chain(_get_drop_statements(model, shop_id), _get_create_statements(model, shop_id))
    )


def _get_shop_models() -> list[type[models.Model]]:
    owned = [model for model in apps.get_models(include_auto_created=True) if issubclass(model, ShopOwned)]
    return [Shop, *(model for model in owned if not model._meta.proxy)]


def _execute_per_table(statements: Callable[[type[models.Model]], Iterator[str]]) -> None:
    """Change each table in its own transaction, to keep locks short. SQLite uses a single transaction."""
    if connection.vendor != "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            for model in _get_shop_models():
                for statement in statements(model):
                    cursor.execute(statement)
        return
    for model in _get_shop_models():
        _execute_with_retries(list(statements(model)), model._meta.db_table)


def _execute_with_retries(statements: list[str], table: str) -> None:
    """Run the statements with a short lock timeout, because all other writers wait behind a pending table lock."""
    for attempt in range(_ATTEMPTS):
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                set_lock_timeout(f"{_LOCK_SECONDS}s")
                for statement in statements:
                    cursor.execute(statement)
            return
        except OperationalError as error:
            if not is_lock_timeout(error):
                raise
            time.sleep(attempt + 1)
    raise TableBusy(f"The table {table} is busy. Try again when there is less traffic.")


def _get_create_statements(model: type[models.Model], shop_id: int) -> Iterator[str]:
    table, allowed = model._meta.db_table, _ALLOWED_OPERATIONS.get(model._meta.label, {})
    column = "id" if model is Shop else "shop_id"
    for operation in _OPERATIONS:
        exception = allowed.get(operation)
        if exception is True:
            continue
        rows = {"INSERT": ("NEW",), "UPDATE": ("NEW", "OLD"), "DELETE": ("OLD",)}[operation]
        condition = " OR ".join(f"{row}.{column} = {int(shop_id)}" for row in rows)
        if exception:
            condition = f"({condition}) AND NOT ({exception})"
        yield (
            f"CREATE TRIGGER {_build_trigger_name(table, operation, shop_id)} BEFORE {operation} ON {table}"
            f" FOR EACH ROW WHEN ({condition}) {_build_trigger_body(rows[0], column)}"
        )


def _get_drop_statements(model: type[models.Model], shop_id: int) -> Iterator[str]:
    table = model._meta.db_table
    on_clause = f" ON {table}" if connection.vendor == "postgresql" else ""
    for operation in _OPERATIONS:
        yield f"DROP TRIGGER IF EXISTS {_build_trigger_name(table, operation, shop_id)}{on_clause}"


def _build_trigger_name(table: str, operation: str, shop_id: int) -> str:
    # SQLite needs the table in the name, because trigger names are unique per database. PostgreSQL limits names to 63
    # characters.
    word = operation.lower()
    return f"read_only_{shop_id}_{word}" if connection.vendor == "postgresql" else f"{table}_read_only_{shop_id}_{word}"


def _build_trigger_body(row: str, column: str) -> str:
    if connection.vendor == "postgresql":
        return f"EXECUTE FUNCTION {_FUNCTION}()"
    # RAISE would report a constraint violation, which INSERT OR IGNORE skips and which is otherwise handled as a client
    # error. An invalid JSON path causes an operational error instead. The path includes a column of the row, because
    # SQLite would evaluate a constant path when it prepares the statement.
    return f"BEGIN SELECT json_extract('{{}}', '{READ_ONLY_ERROR}: ' || {row}.{column}); END"
