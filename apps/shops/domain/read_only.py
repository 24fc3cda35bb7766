"""A shop that can only be read, while it moves to another installation.

The database itself refuses: each of the shop's tables gets triggers for as long as it lasts, so that a shop that can be
written pays nothing for it, and no face, job or forgotten statement gets past. What is being written when they are made
is waited for: PostgreSQL makes a trigger once nobody who wrote to the table is under way, SQLite has one writer. Where
a transaction meets a table that has its trigger already, all of it is undone. So once ``switch_on`` returns, whatever
was acknowledged stands in the tables, and nothing more will.

The refusal is an outage like any other to those who meet it: 503 with ``Retry-After``, jobs that are tried again.

What may go on is what the engines write about work that they had begun, and what housekeeping lets go of
(``_GOES_ON``). They begin nothing new: who looks for work in all shops leaves out those that are not ``writable``.
Rows that no shop owns are not refused: people, their sessions, apps.
"""

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import chain

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, OperationalError, connection, models, transaction
from django.db.models import Q

from apps.ground.errors import DomainError
from apps.ground.locks import wait_at_most
from apps.ground.outages import READ_ONLY, is_wait_over
from apps.ground.rows import ShopOwned
from apps.shops.models import Shop

_LOCK_SECONDS = 2
_TIMES = 5
_FUNCTION = "shops_refuse_while_read_only"
_EACH = ("INSERT", "UPDATE", "DELETE")
# By the label of a model, the operations that go on: True, or the condition under which they do.
_GOES_ON: dict[str, dict[str, str | bool]] = {
    "jobs.Job": {"UPDATE": "OLD.state IN ('waiting', 'running') AND NEW.state <> 'cancelled'", "DELETE": True},
    "webhooks.Delivery": {"UPDATE": "OLD.state = 'leased'", "DELETE": True},
    "webhooks.Attempt": dict.fromkeys(_EACH, True),
    "webhooks.Payload": {"DELETE": True},
    "api.IdempotencyKey": {"DELETE": True},
    "bulk.BulkEdit": {"DELETE": True},
    "bulk.EditedRow": {"DELETE": True},
    "fulfillment.PullAttempt": {"DELETE": True},
    "shops.AuthorizationCode": {"DELETE": True},
    "shops.AccessToken": {"DELETE": True},
}


class StillInUse(DomainError):
    """A table of the shop could not be had for a moment."""

    code = "still_in_use"


def writable(shop: str = "shop") -> Q:
    """The condition under which work of a shop may begin; ``shop`` is the lookup that leads to it."""
    return ~Q(**{f"{shop}__in": Shop.objects.filter(read_only_at__isnull=False).values("pk")})


def switch_on(shop: Shop, *, at: datetime) -> None:
    """Refuse all writes of a shop from now on, once those that are under way have ended.

    It can be called again where it broke off.

    Raises:
        StillInUse: A table is being written for longer than we make others wait; the shop is read-only in part.
    """
    # Those who begin work look here; whoever began before is waited for at the tables.
    Shop.objects.filter(pk=shop.pk, read_only_at=None).update(read_only_at=at)
    shop.refresh_from_db()
    _refuse(shop.pk)


def switch_off(shop: Shop) -> None:
    """Let the shop be written again.

    Raises:
        StillInUse: A table could not be had; the shop is read-only in part.
    """
    _each_table(lambda model: _lifting(model, shop.pk))
    Shop.objects.filter(pk=shop.pk).update(read_only_at=None)
    shop.refresh_from_db()


def ensure(using: str = "default", **_: object) -> None:
    """Make triggers again that a migration took away with its table; a receiver of ``post_migrate``."""
    tables = connection.introspection.table_names()
    if using != DEFAULT_DB_ALIAS or any(model._meta.db_table not in tables for model in _models()):
        return
    with connection.cursor() as cursor:
        columns = connection.introspection.get_table_description(cursor, Shop._meta.db_table)
    if "read_only_at" in {column.name for column in columns}:
        for pk in Shop.objects.exclude(read_only_at=None).values_list("pk", flat=True):
            _refuse(pk)


def _refuse(shop_id: int) -> None:
    if connection.vendor == "postgresql":
        body = f"BEGIN RAISE EXCEPTION '{READ_ONLY}' USING ERRCODE = 'read_only_sql_transaction'; END"
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE OR REPLACE FUNCTION {_FUNCTION}() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$")
    _each_table(lambda model: chain(_lifting(model, shop_id), _making(model, shop_id)))


def _models() -> list[type[models.Model]]:
    """Whatever a shop owns, and the shop itself, which comes first."""
    owned = [model for model in apps.get_models(include_auto_created=True) if issubclass(model, ShopOwned)]
    return [Shop, *(model for model in owned if not model._meta.proxy)]


def _each_table(statements: Callable[[type[models.Model]], Iterator[str]]) -> None:
    """Change each table by itself, so that nobody waits for more than one; on SQLite all at once."""
    if connection.vendor != "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            for model in _models():
                for statement in statements(model):
                    cursor.execute(statement)
        return
    for model in _models():
        _in_time(list(statements(model)), model._meta.db_table)


def _in_time(statements: list[str], table: str) -> None:
    """Wait for a table's writers, but not long: whoever else wants to write to it waits behind us."""
    for attempt in range(_TIMES):
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                wait_at_most(f"{_LOCK_SECONDS}s")
                for statement in statements:
                    cursor.execute(statement)
            return
        except OperationalError as error:
            if not is_wait_over(error):
                raise
            time.sleep(attempt + 1)
    raise StillInUse(f"{table} is being written for too long. Do it again when there is less traffic.")


def _making(model: type[models.Model], shop_id: int) -> Iterator[str]:
    table, goes_on = model._meta.db_table, _GOES_ON.get(model._meta.label, {})
    column = "id" if model is Shop else "shop_id"
    for operation in _EACH:
        except_where = goes_on.get(operation)
        if except_where is True:
            continue
        rows = {"INSERT": ("NEW",), "UPDATE": ("NEW", "OLD"), "DELETE": ("OLD",)}[operation]
        condition = " OR ".join(f"{row}.{column} = {int(shop_id)}" for row in rows)
        if except_where:
            condition = f"({condition}) AND NOT ({except_where})"
        yield (
            f"CREATE TRIGGER {_name(table, operation, shop_id)} BEFORE {operation} ON {table} FOR EACH ROW"
            f" WHEN ({condition}) {_refusal(rows[0], column)}"
        )


def _lifting(model: type[models.Model], shop_id: int) -> Iterator[str]:
    table = model._meta.db_table
    on = f" ON {table}" if connection.vendor == "postgresql" else ""
    for operation in _EACH:
        yield f"DROP TRIGGER IF EXISTS {_name(table, operation, shop_id)}{on}"


def _name(table: str, operation: str, shop_id: int) -> str:
    # SQLite's triggers share one space of names; PostgreSQL's names have 63 characters.
    word = operation.lower()
    return f"read_only_{shop_id}_{word}" if connection.vendor == "postgresql" else f"{table}_read_only_{shop_id}_{word}"


def _refusal(row: str, column: str) -> str:
    if connection.vendor == "postgresql":
        return f"EXECUTE FUNCTION {_FUNCTION}()"
    # RAISE would make it the breach of a constraint, which is the client's fault, and which INSERT OR IGNORE passes by.
    # A path that cannot be read is an error of operation; that it names the row keeps it from being read beforehand.
    return f"BEGIN SELECT json_extract('{{}}', '{READ_ONLY}: ' || {row}.{column}); END"
