"""Multiply the rows of one shop in SQL, with all their related rows, in any distribution over shops (PostgreSQL only).

The copies are complete: every table of ``COPIED_APPS`` has realistic numbers of rows per parent. The other shops have
no row of their own, because only the number of their rows matters.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import apps
from django.db import connection, models, transaction

from benchmarks.bulk_insert import drop_indexes

COPIED_APPS = (
    "catalog",
    "customers",
    "discounts",
    "events",
    "fulfillment",
    "inventory",
    "metafields",
    "orders",
    "refunds",
)
# Tables with a fixed number of rows per shop.
_SINGLE = {"inventory.Location", "orders.OrderCounter", "catalog.Collection", "fulfillment.FulfillmentService"}
# SQL for columns with several values in each shop. The planner's guesses depend on the number of different values.
_VARYING = {
    "orders_order.status": "CASE n % 4 WHEN 0 THEN 'open' WHEN 1 THEN 'cancelled' ELSE 'closed' END",
    "orders_order.closed_at": "CASE WHEN n % 4 > 1 THEN s.created_at END",
    "orders_order.cancelled_at": "CASE WHEN n % 4 = 1 THEN s.created_at END",
}
# Columns with the id of a row in any table.
_GENERIC_KEYS = {"owner_id", "subject_id"}
# For more copies, creating the indexes again takes less time than changing them.
MANY_COPIES = 5_000
# The distance between the ids of a row and its next copy.
STEP = 1_000
# The distance between the ids of a row that is not copied and the row of the next shop that would correspond to it.
SHOP_STEP = 10_000_000_000


def copy_rows(shop_id: int, first: int, last: int, *, shop_offset: str = "0") -> None:
    """Insert copies ``first`` to ``last`` of each row of the shop. The ids of the originals must be nearly consecutive.

    ``shop_offset`` is SQL for the distance of a copy's shop id. In SQL, the number of the copy is ``n``.
    """
    copied = list(iterate_copied_models())
    with transaction.atomic(), connection.cursor() as cursor:
        # Foreign keys are valid by construction, and the sort tables are copied as well.
        cursor.execute("SET LOCAL session_replication_role = replica; SET LOCAL statement_timeout = 0")
        indexes = drop_indexes(cursor, [m._meta.db_table for m in copied]) if last - first > MANY_COPIES else []
        for model in copied:
            values = _build_values(model, copied, shop_id, shop_offset)
            columns = ", ".join(f'"{column}"' for column in values)
            table = f'"{model._meta.db_table}"'
            originals = f"(SELECT min({_key(model)}) FROM {table} WHERE shop_id = {shop_id})"
            cursor.execute(
                f"INSERT INTO {table} ({columns}) SELECT {', '.join(values.values())} FROM {table} AS s"
                f" CROSS JOIN generate_series({first}, {last}) AS n"
                f" WHERE s.shop_id = {shop_id} AND s.{_key(model)} < {originals} + {STEP} ORDER BY n, s.{_key(model)}"
            )
        for definition in indexes:
            cursor.execute(definition)
        cursor.execute("SET LOCAL session_replication_role = origin")


def analyze_copies() -> None:
    with connection.cursor() as cursor:
        tables = ", ".join(f'"{model._meta.db_table}"' for model in iterate_copied_models())
        cursor.execute(f"{'ANALYZE' if connection.in_atomic_block else 'VACUUM ANALYZE'} {tables}")


def iterate_copied_models() -> Iterator[type[models.Model]]:
    for label in COPIED_APPS:
        for model in apps.get_app_config(label).get_models():
            names = {field.name for field in model._meta.concrete_fields}
            if "shop" in names and model._meta.label not in _SINGLE and not model._meta.proxy:
                yield model


def _key(model: type[models.Model]) -> str:
    return str(model._meta.pk.column)


def _build_values(
    model: type[models.Model], copied: list[type[models.Model]], shop_id: int, shop_offset: str
) -> dict[str, str]:
    """Return the SQL of each column of a copy."""
    distinct = _find_distinct_columns(model, copied)
    return {
        str(field.column): _build_value(field, copied, shop_id, shop_offset, is_distinct=field.name in distinct)
        for field in model._meta.concrete_fields
        if not field.generated
    }


def _build_value(
    field: "models.Field[Any, Any]",
    copied: list[type[models.Model]],
    shop_id: int,
    shop_offset: str,
    *,
    is_distinct: bool,
) -> str:
    column, related = f's."{field.column}"', field.related_model
    if varying := _VARYING.get(f"{field.model._meta.db_table}.{field.column}"):
        return varying
    if field.column == "shop_id":
        return f"{shop_id} + ({shop_offset})"
    if isinstance(related, type) and related._meta.concrete_model in copied:
        return f"{column} + n::bigint * {STEP}"
    if isinstance(related, type):
        has_shop = any(other.name == "shop" for other in related._meta.concrete_fields)
        return f"{column} + ({shop_offset})::bigint * {SHOP_STEP}" if has_shop else column
    if field.primary_key or field.column in _GENERIC_KEYS:
        return f"{column} + n::bigint * {STEP}"
    if isinstance(field, models.UUIDField):
        return "gen_random_uuid()"
    if isinstance(field, models.DateTimeField):
        return f"{column} + n * interval '1 second'"
    if is_distinct or field.name == "version":
        if isinstance(field, models.IntegerField):
            return f"{column} + n"
        return f"CASE {column} WHEN '' THEN '' ELSE left(n || '-' || {column}, {field.max_length or 1000}) END"
    return column


def _find_distinct_columns(model: type[models.Model], copied: list[type[models.Model]]) -> set[str]:
    """Return the columns that must differ between copies, because no key of a copied row makes them unique."""
    fields = {field.name: field for field in model._meta.concrete_fields}
    unique = {field.name for field in fields.values() if field.unique}
    for constraint in model._meta.constraints:
        if isinstance(constraint, models.UniqueConstraint):
            expressions: Sequence[Any] = constraint.expressions
            parts: list[Any] = [part for expression in expressions for part in expression.flatten()]
            names = {*constraint.fields, *(part.name for part in parts if isinstance(part, models.F))}  # type: ignore[attr-defined]
            if not any(fields[name].related_model in copied or fields[name].column in _GENERIC_KEYS for name in names):
                unique |= names
    return unique - {"shop"}
