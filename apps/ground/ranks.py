"""Ranks: narrow tables with the indexes of columns that move often, beside the wide rows that they belong to.

PostgreSQL enters a changed row into all indexes of its table as soon as a column of one of them moved, sixteen of
products and as many of customers with those of texts; where none moved, it enters it into none ("heap-only tuple").
``updated_at`` moves with every change. So it stays a column of the row, where it is read, and has no index there: a
trigger copies it, with the few others of its kind, into the row's rank, whose table has three narrow indexes.

*Invariants*: every row has one rank, with the same values, in the same transaction; nobody but the trigger writes
ranks. A rank is locked only by who holds its row, so it adds no order of locks. Shop archives leave ranks out, for they
come with the rows; copies of a whole database have both.

A row may have several narrow tables, for columns that move apart from each other.

Lists name the columns of the row; whoever makes a statement of that asks here (``ordered``, ``by_rank``, ``where``) for
the columns of the rank, in whose join the shop has to stand, as the indexes begin with it.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, ClassVar, TypeVar

from django.db import connections, models, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import F, Q, QuerySet

from apps.ground.tenancy import current_shop

FILLED_AT_ONCE = 20_000
M = TypeVar("M", bound=models.Model)


class Rank(models.Model):
    """The rank of a row; its ``of`` is a ``rank_of``, its other columns are named like those that they follow.

    Attributes:
        kept_on: The databases' vendors that keep it; elsewhere its table stays empty.
        sorts: Whether lists sort and filter by its columns; else a search knows what to do with them.
    """

    kept_on: ClassVar[frozenset[str]] = frozenset({"postgresql", "sqlite"})
    sorts: ClassVar[bool] = True

    of: "models.OneToOneField[Any, Any]"
    # Neither is checked by the database: the trigger copies what was checked in the row.
    shop: "models.ForeignKey[Any, Any]" = models.ForeignKey(
        "shops.Shop", on_delete=models.DO_NOTHING, related_name="+", editable=False, db_index=False, db_constraint=False
    )

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"Rank of {self.pk}"


def rank_of(model: str, related_name: str = "ranked") -> Any:
    """The key of a rank: its row, by which it is deleted, too; ``related_name`` is what rows call the rank."""
    return models.OneToOneField(
        model,
        on_delete=models.DO_NOTHING,
        primary_key=True,
        related_name=related_name,
        editable=False,
        db_constraint=False,
        db_column="id",
    )


def by_rank(model: type[models.Model], names: Iterable[str]) -> tuple[str, ...]:
    """The names of an order, with the ranks' in the place of those that they follow; ``joined`` does the rest.

    Behind one of those the id is the rank's too, which SQLite does not know to be the same.
    """
    places, rank, found = _places(model), "", []
    for name in names:
        column = name.lstrip("-")
        if column in places:
            rank = places[column]
            found.append(name.replace(column, f"{rank}__{column}"))
        elif rank and column in {"id", "pk"}:
            found.append(name.replace(column, f"{rank}__of_id"))
        else:
            found.append(name)
    return tuple(found)


def ordered(rows: QuerySet[M, Any], names: Iterable[str]) -> QuerySet[M, Any]:
    """The rows in an order; from an index of their ranks where that has its columns."""
    return joined(rows.order_by(*by_rank(rows.model, names)))


def joined(rows: QuerySet[M, Any]) -> QuerySet[M, Any]:
    """Rows that have an order, joined with their ranks if it is by these."""
    for rank in ranks_in(rows.model, rows.query.order_by):
        rows = rows.filter(_shop(rank))
    return rows


def nearest(rows: QuerySet[M, Any], order: Iterable[str], most: int) -> QuerySet[Any, Any]:
    """The keys of the first so many of a shop's rows in an order, out of one index.

    Args:
        rows: The rows of the current shop.
        order: The names of the order, as ``by_rank`` gives them.
        most: How many.
    """
    return by_themselves(rows, order).values("pk")[:most]


def by_themselves(rows: QuerySet[M, Any], order: Iterable[str]) -> QuerySet[Any, Any]:
    """A shop's rows in an order, or in their place their ranks, which have the same keys, where these have the order.

    Args:
        rows: All rows of the current shop.
        order: The names of the order, as ``by_rank`` gives them.
    """
    names = tuple(order)
    used = ranks_in(rows.model, names)
    if len(used) != 1:
        return rows.order_by(*names)
    ((name, rank),) = used.items()
    own = (each.replace(f"{name}__", "").replace("of_id", "pk") for each in names)
    return rank._default_manager.filter(shop=current_shop()).order_by(*own)


def where(model: type[models.Model], name: str, lookup: str, value: object) -> Q:
    """The rows whose column fits; from an index of their ranks where that has the column."""
    rank = _places(model).get(name)
    return within(Q(**{f"{rank}__{name}__{lookup}": value}), rank) if rank else Q(**{f"{name}__{lookup}": value})


def within(condition: Q, rank: str = "ranked") -> Q:
    """A condition on the columns of a rank, so written that an index of it serves it."""
    return _shop(rank) & condition


def ranks_in(model: type[models.Model], order: Iterable[object]) -> dict[str, type[Rank]]:
    """The ranks by which an order goes, by what the rows call them."""
    used = {name.lstrip("-").partition("__")[0] for name in order if isinstance(name, str) and "__" in name}
    return {name: rank for name, rank in ranks_of(model).items() if name in used}


@cache
def ranks_of(model: type[models.Model]) -> dict[str, type[Rank]]:
    """The ranks by which lists of a model are sorted and filtered, by what the rows call them."""
    relations = (each for each in model._meta.related_objects if each.one_to_one)
    found = {str(each.get_accessor_name()): each.related_model for each in relations}
    return {name: rank for name, rank in found.items() if issubclass(rank, Rank) and rank.sorts}


@cache
def _places(model: type[models.Model]) -> dict[str, str]:
    """By column the rank that has its index."""
    return {column: name for name, rank in ranks_of(model).items() for column in _followed(rank)}


def _shop(rank: str) -> Q:
    return Q(**{f"{rank}__shop": F("shop")})


def ensure_all(using: str, **_: object) -> None:
    """``ensure`` every table of ranks; a receiver of ``post_migrate``."""
    for rank in Rank.__subclasses__():
        ensure(rank, using)


def ensure(rank: type[Rank], using: str) -> None:
    """Make a rank table's triggers where they are missing, and the ranks that are.

    A migration on SQLite that rebuilds the table of the rows takes the triggers with it; then all ranks are made anew.
    Ranks are filled in short transactions, while others write: what moved meanwhile was ranked by its trigger.
    """
    database = connections[using]
    tables = database.introspection.table_names()
    row = _row(rank)
    made = rank._meta.db_table in tables and row._meta.db_table in tables
    if not made or database.vendor not in getattr(rank, "kept_on", Rank.kept_on):
        return
    with transaction.atomic(using=using), database.cursor() as cursor:
        cursor.execute(_COUNT_TRIGGERS[database.vendor], [f"{rank._meta.db_table}_%"])
        missing = cursor.fetchone()[0] < len(_EVENTS)
        if missing:
            for statement in _postgresql(rank) if database.vendor == "postgresql" else _sqlite(rank):
                cursor.execute(statement)
    if missing or _has_unranked(rank, using):
        _fill(rank, using)


def remove(rank: type[Rank], using: str) -> None:
    """Drop a rank table's triggers, before the table goes."""
    database = connections[using]
    on_row = f" ON {_row(rank)._meta.db_table}" if database.vendor == "postgresql" else ""
    with database.cursor() as cursor:
        for event in _EVENTS:
            cursor.execute(f"DROP TRIGGER IF EXISTS {rank._meta.db_table}_{event}{on_row}")
        if database.vendor == "postgresql":
            cursor.execute(f"DROP FUNCTION IF EXISTS {rank._meta.db_table}_follow()")


class TriggersGoToo(Operation):
    """For the migration that makes a rank's table: undone, it takes the triggers along.

    In the table's own transaction: triggers without a table let nobody write a row, a table without them goes stale.
    """

    def __init__(self, name: str) -> None:
        """``name`` is the rank's model."""
        self.name = name

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Models stay as they are."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """``ensure_all`` makes them behind all migrations."""

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """Drop them."""
        remove(from_state.apps.get_model(app_label, self.name), schema_editor.connection.alias)

    def describe(self) -> str:
        """In the plan of ``migrate``."""
        return f"Drop the triggers of {self.name} where its table goes"


def _row(rank: type[Rank]) -> type[models.Model]:
    return rank._meta.get_field("of").related_model


def _followed(rank: type[Rank]) -> list[str]:
    return [field.attname for field in rank._meta.concrete_fields if field.name not in {"of", "shop"}]


def _upsert(rank: type[Rank], source: str) -> str:
    """Ranks from ``source``: what stands behind the list of columns."""
    columns = ("id", "shop_id", *_followed(rank))
    moved = ", ".join(f"{column} = excluded.{column}" for column in _followed(rank))
    return f"INSERT INTO {rank._meta.db_table} ({', '.join(columns)}) {source} ON CONFLICT (id) DO UPDATE SET {moved}"


def _of(rank: type[Rank], record: str) -> str:
    return ", ".join(f"{record}.{column}" for column in ("id", "shop_id", *_followed(rank)))


_EVENTS = ("insert", "update", "delete")
_COUNT_TRIGGERS = {
    "postgresql": "SELECT count(*) FROM pg_trigger WHERE tgname LIKE %s AND NOT tgisinternal"
    " AND pg_table_is_visible(tgrelid)",
    "sqlite": "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND name LIKE %s",
}


def _triggers(rank: type[Rank], differs: str) -> Iterator[tuple[str, str]]:
    """Each trigger's name and when it comes."""
    table = _row(rank)._meta.db_table
    name = rank._meta.db_table
    followed = _followed(rank)
    moved = " OR ".join(f"NEW.{column} {differs} OLD.{column}" for column in followed)
    yield f"{name}_insert", f"AFTER INSERT ON {table} FOR EACH ROW"
    yield f"{name}_update", f"AFTER UPDATE OF {', '.join(followed)} ON {table} FOR EACH ROW WHEN ({moved})"
    yield f"{name}_delete", f"AFTER DELETE ON {table} FOR EACH ROW"


def _postgresql(rank: type[Rank]) -> Iterator[str]:
    name = rank._meta.db_table
    followed = _upsert(rank, f"VALUES ({_of(rank, 'NEW')})")
    gone = f"DELETE FROM {name} WHERE id = OLD.id"  # noqa: S608 - names of our own
    body = f"BEGIN IF TG_OP = 'DELETE' THEN {gone}; ELSE {followed}; END IF; RETURN NULL; END"
    yield f"CREATE OR REPLACE FUNCTION {name}_follow() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$"
    for trigger, when in _triggers(rank, "IS DISTINCT FROM"):
        yield f"CREATE OR REPLACE TRIGGER {trigger} {when} EXECUTE FUNCTION {name}_follow()"


def _sqlite(rank: type[Rank]) -> Iterator[str]:
    for trigger, when in _triggers(rank, "IS NOT"):
        if trigger.endswith("_delete"):
            does = f"DELETE FROM {rank._meta.db_table} WHERE id = OLD.id"  # noqa: S608 - names of our own
        else:
            does = _upsert(rank, f"VALUES ({_of(rank, 'NEW')})")
        yield f"CREATE TRIGGER IF NOT EXISTS {trigger} {when} BEGIN {does}; END"


def _has_unranked(rank: type[Rank], using: str) -> bool:
    table, ranks = _row(rank)._meta.db_table, rank._meta.db_table
    with connections[using].cursor() as cursor:
        cursor.execute(
            f"SELECT EXISTS (SELECT 1 FROM {table} r WHERE NOT EXISTS (SELECT 1 FROM {ranks} k WHERE k.id = r.id))"  # noqa: S608 - names of our own
        )
        return bool(cursor.fetchone()[0])


def _fill(rank: type[Rank], using: str) -> None:
    """Rank the rows by ascending key; on PostgreSQL each is locked first, so that no older state of it is copied."""
    table = _row(rank)._meta.db_table
    lock = "FOR NO KEY UPDATE" if connections[using].vendor == "postgresql" else ""
    last: int | None = 0
    with connections[using].cursor() as cursor:
        while last is not None:
            begin = last
            cursor.execute(
                f"SELECT max(id) FROM (SELECT id FROM {table} WHERE id > %s ORDER BY id LIMIT %s) part",  # noqa: S608 - names of our own
                [begin, FILLED_AT_ONCE],
            )
            last = cursor.fetchone()[0]
            if last is not None:
                part = f"SELECT {_of(rank, table)} FROM {table} WHERE id > %s AND id <= %s ORDER BY id {lock}"  # noqa: S608
                fresh = f"SELECT * FROM ({part}) part WHERE true"  # noqa: S608
                with transaction.atomic(using=using):
                    cursor.execute(_upsert(rank, fresh), [begin, last])
