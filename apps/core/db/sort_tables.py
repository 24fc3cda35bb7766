"""Sort tables: narrow tables with the indexes for frequently changing columns of wide tables.

If an update changes an indexed column, PostgreSQL adds the new row version to all indexes of the table. Products and
customers have sixteen indexes each, including text indexes. If no indexed column changes, PostgreSQL writes to no index
("heap-only tuple"). ``updated_at`` changes with every update, so the original table has no index for ``updated_at``.
Instead, a trigger copies ``updated_at`` and similar columns to an entry in a sort table, which has three narrow
indexes.

*Invariants*: every row has one entry with the same values. Only the trigger writes the entry, in the same transaction
as the row. Entries cannot cause deadlocks, because an entry is only locked together with its row. Shop archives do not
contain sort tables, because the triggers fill them during the import. Copies of a whole database contain sort tables.

A table can have several sort tables, for columns that change at different times.

Lists use the column names of the original table. Code that builds a query maps these names to the sort table with
``order_rows``, ``map_to_sort_columns`` or ``filter_sort_column``. The join must include the shop, because the indexes
begin with the shop.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, ClassVar, TypeVar

from django.db import connections, models, transaction
from django.db.models import F, Q, QuerySet

from apps.core.tenancy.scope import get_current_shop

FILL_BATCH_SIZE = 20_000
M = TypeVar("M", bound=models.Model)


class Rank(models.Model):
    """An entry in a sort table. ``of`` is a ``sort_table_key`` field. The other columns are copied from the row.

    Attributes:
        used_on: The database vendors that use the sort table. On other databases, the sort table is empty.
        is_for_lists: True if lists sort and filter by the sort table's columns. False if only searches use the columns.
    """

    used_on: ClassVar[frozenset[str]] = frozenset({"postgresql", "sqlite"})
    is_for_lists: ClassVar[bool] = True

    of: "models.OneToOneField[Any, Any]"
    # A foreign key constraint is not necessary, because the trigger copies the value from the original table, which has
    # the constraint.
    shop: "models.ForeignKey[Any, Any]" = models.ForeignKey(
        "shops.Shop", on_delete=models.DO_NOTHING, related_name="+", editable=False, db_index=False, db_constraint=False
    )

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"Rank of {self.pk}"


def sort_table_key(model: str, related_name: str = "ranked") -> Any:
    """Return the primary key of a sort table, which refers to the row. ``related_name`` is the row's accessor."""
    return models.OneToOneField(
        model,
        on_delete=models.DO_NOTHING,
        primary_key=True,
        related_name=related_name,
        editable=False,
        db_constraint=False,
        db_column="id",
    )


def map_to_sort_columns(model: type[models.Model], names: Iterable[str]) -> tuple[str, ...]:
    """Map the column names of a sort order to columns of sort tables if possible. ``join_sort_tables`` adds the join.

    After a column of a sort table, ``id`` is also mapped to the sort table, because SQLite does not know that the two
    ids are equal.
    """
    accessors, rank, columns = _map_columns(model), "", []
    for name in names:
        column = name.lstrip("-")
        if column in accessors:
            rank = accessors[column]
            columns.append(name.replace(column, f"{rank}__{column}"))
        elif rank and column in {"id", "pk"}:
            columns.append(name.replace(column, f"{rank}__of_id"))
        else:
            columns.append(name)
    return tuple(columns)


def order_rows(rows: QuerySet[M, Any], names: Iterable[str]) -> QuerySet[M, Any]:
    """Sort rows by columns. If a sort table has the columns, the query uses an index of the sort table."""
    return join_sort_tables(rows.order_by(*map_to_sort_columns(rows.model, names)))


def join_sort_tables(rows: QuerySet[M, Any]) -> QuerySet[M, Any]:
    """Join sorted rows with the sort tables that the sort order uses."""
    for rank in get_used_sort_tables(rows.model, rows.query.order_by):
        rows = rows.filter(_shop_condition(rank))
    return rows


def get_first_keys(rows: QuerySet[M, Any], order: Iterable[str], limit: int) -> QuerySet[Any, Any]:
    """Sort a shop's rows by names from ``map_to_sort_columns``, and return the first keys from a single index."""
    return order_in_sort_table(rows, order).values("pk")[:limit]


def order_in_sort_table(rows: QuerySet[M, Any], order: Iterable[str]) -> QuerySet[Any, Any]:
    """Sort all rows of a shop. If one sort table has all columns, return its entries, which have the same keys."""
    names = tuple(order)
    used = get_used_sort_tables(rows.model, names)
    if len(used) != 1:
        return rows.order_by(*names)
    ((name, rank),) = used.items()
    own = (column.replace(f"{name}__", "").replace("of_id", "pk") for column in names)
    return rank._default_manager.filter(shop=get_current_shop()).order_by(*own)


def filter_sort_column(model: type[models.Model], name: str, lookup: str, value: object) -> Q:
    """Return a condition on a column. If a sort table has the column, the condition uses an index of the sort table."""
    if rank := _map_columns(model).get(name):
        return add_shop_condition(Q(**{f"{rank}__{name}__{lookup}": value}), rank)
    return Q(**{f"{name}__{lookup}": value})


def add_shop_condition(condition: Q, rank: str = "ranked") -> Q:
    """Add the shop to a condition on columns of a sort table, so that an index can be used."""
    return _shop_condition(rank) & condition


def get_used_sort_tables(model: type[models.Model], order: Iterable[object]) -> dict[str, type[Rank]]:
    """Return the sort tables that a sort order uses, keyed by the reverse accessor on the model."""
    used = {name.lstrip("-").partition("__")[0] for name in order if isinstance(name, str) and "__" in name}
    return {name: rank for name, rank in get_sort_tables(model).items() if name in used}


@cache
def get_sort_tables(model: type[models.Model]) -> dict[str, type[Rank]]:
    """Return the sort tables for lists of a model, keyed by the reverse accessor on the model."""
    relations = (relation for relation in model._meta.related_objects if relation.one_to_one)
    candidates = {str(relation.get_accessor_name()): relation.related_model for relation in relations}
    return {name: rank for name, rank in candidates.items() if issubclass(rank, Rank) and rank.is_for_lists}


@cache
def is_indexed(model: type[models.Model], column: str) -> bool:
    """Return True if an index supports sorting a shop's rows by a column, or if a sort table has the column."""
    leading = (
        tuple(name.lstrip("-") for name in index.fields[:2]) for index in model._meta.indexes if not index.condition
    )
    return column in _map_columns(model) or ("shop", column) in leading


@cache
def _map_columns(model: type[models.Model]) -> dict[str, str]:
    """Return, for each copied column, the accessor of the sort table that has the copy."""
    return {column: name for name, rank in get_sort_tables(model).items() for column in _get_copied_columns(rank)}


def _shop_condition(rank: str) -> Q:
    return Q(**{f"{rank}__shop": F("shop")})


def create_all_sort_triggers(using: str, **_: object) -> None:
    """Call ``create_sort_triggers`` for every sort table (a receiver of ``post_migrate``)."""
    for rank in Rank.__subclasses__():
        create_sort_triggers(rank, using)


def create_sort_triggers(rank: type[Rank], using: str) -> None:
    """Create the missing triggers and entries of a sort table.

    A SQLite migration that rebuilds the original table drops the triggers. All entries are then written again. Entries
    are written in short transactions, so other writers do not have to wait long. The triggers are created first, so
    they update the entries of rows that change in the meantime.
    """
    database = connections[using]
    tables = database.introspection.table_names()
    row = _get_row_model(rank)
    tables_exist = rank._meta.db_table in tables and row._meta.db_table in tables
    if not tables_exist or database.vendor not in getattr(rank, "used_on", Rank.used_on):
        return
    with transaction.atomic(using=using), database.cursor() as cursor:
        cursor.execute(_COUNT_TRIGGERS[database.vendor], [f"{rank._meta.db_table}_%"])
        missing = cursor.fetchone()[0] < len(_TRIGGER_EVENTS)
        if missing:
            for statement in _postgresql(rank) if database.vendor == "postgresql" else _sqlite(rank):
                cursor.execute(statement)
    if missing or _has_missing_entries(rank, using):
        _fill(rank, using)


def _get_row_model(rank: type[Rank]) -> type[models.Model]:
    return rank._meta.get_field("of").related_model


def _get_copied_columns(rank: type[Rank]) -> list[str]:
    return [field.attname for field in rank._meta.concrete_fields if field.name not in {"of", "shop"}]


def _upsert(rank: type[Rank], source: str) -> str:
    """Return the SQL that writes entries. ``source`` is the SQL that follows the list of columns."""
    columns = ("id", "shop_id", *_get_copied_columns(rank))
    updates = ", ".join(f"{column} = excluded.{column}" for column in _get_copied_columns(rank))
    return f"INSERT INTO {rank._meta.db_table} ({', '.join(columns)}) {source} ON CONFLICT (id) DO UPDATE SET {updates}"


def _format_values(rank: type[Rank], record: str) -> str:
    return ", ".join(f"{record}.{column}" for column in ("id", "shop_id", *_get_copied_columns(rank)))


_TRIGGER_EVENTS = ("insert", "update", "delete")
_COUNT_TRIGGERS = {
    "postgresql": "SELECT count(*) FROM pg_trigger WHERE tgname LIKE %s AND NOT tgisinternal"
    " AND pg_table_is_visible(tgrelid)",
    "sqlite": "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND name LIKE %s",
}


def _triggers(rank: type[Rank], differs: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the ``WHEN`` clause of each trigger."""
    table = _get_row_model(rank)._meta.db_table
    name = rank._meta.db_table
    columns = _get_copied_columns(rank)
    changed = " OR ".join(f"NEW.{column} {differs} OLD.{column}" for column in columns)
    yield f"{name}_insert", f"AFTER INSERT ON {table} FOR EACH ROW"
    yield f"{name}_update", f"AFTER UPDATE OF {', '.join(columns)} ON {table} FOR EACH ROW WHEN ({changed})"
    yield f"{name}_delete", f"AFTER DELETE ON {table} FOR EACH ROW"


def _postgresql(rank: type[Rank]) -> Iterator[str]:
    name = rank._meta.db_table
    upsert = _upsert(rank, f"VALUES ({_format_values(rank, 'NEW')})")
    delete = f"DELETE FROM {name} WHERE id = OLD.id"  # noqa: S608 - names of our own
    body = f"BEGIN IF TG_OP = 'DELETE' THEN {delete}; ELSE {upsert}; END IF; RETURN NULL; END"
    yield f"CREATE OR REPLACE FUNCTION {name}_follow() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$"
    for trigger, when in _triggers(rank, "IS DISTINCT FROM"):
        yield f"CREATE OR REPLACE TRIGGER {trigger} {when} EXECUTE FUNCTION {name}_follow()"


def _sqlite(rank: type[Rank]) -> Iterator[str]:
    for trigger, when in _triggers(rank, "IS NOT"):
        if trigger.endswith("_delete"):
            statement = f"DELETE FROM {rank._meta.db_table} WHERE id = OLD.id"  # noqa: S608 - names of our own
        else:
            statement = _upsert(rank, f"VALUES ({_format_values(rank, 'NEW')})")
        yield f"CREATE TRIGGER IF NOT EXISTS {trigger} {when} BEGIN {statement}; END"


def _has_missing_entries(rank: type[Rank], using: str) -> bool:
    table, ranks = _get_row_model(rank)._meta.db_table, rank._meta.db_table
    with connections[using].cursor() as cursor:
        cursor.execute(
            f"SELECT EXISTS (SELECT 1 FROM {table} r WHERE NOT EXISTS (SELECT 1 FROM {ranks} k WHERE k.id = r.id))"  # noqa: S608 - names of our own
        )
        return bool(cursor.fetchone()[0])


def _fill(rank: type[Rank], using: str) -> None:
    """Write the entries by ascending key. PostgreSQL locks each row first, so that no outdated values are copied."""
    table = _get_row_model(rank)._meta.db_table
    lock = "FOR NO KEY UPDATE" if connections[using].vendor == "postgresql" else ""
    last: int | None = 0
    with connections[using].cursor() as cursor:
        while last is not None:
            after = last
            cursor.execute(
                f"SELECT max(id) FROM (SELECT id FROM {table} WHERE id > %s ORDER BY id LIMIT %s) part",  # noqa: S608 - names of our own
                [after, FILL_BATCH_SIZE],
            )
            last = cursor.fetchone()[0]
            if last is not None:
                rows = (
                    f"SELECT {_format_values(rank, table)} FROM {table} WHERE id > %s AND id <= %s ORDER BY id {lock}"  # noqa: S608
                )
                source = f"SELECT * FROM ({rows}) part WHERE true"  # noqa: S608
                with transaction.atomic(using=using):
                    cursor.execute(_upsert(rank, source), [after, last])
