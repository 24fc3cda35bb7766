"""What every row has: a shop, time stamps, and a version where it is the root of an aggregate."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections, models, transaction
from django.db.models.deletion import Collector
from django.utils import timezone
from django.utils.translation import gettext_lazy
from django_scopes import ScopedManager

from apps.ground import sql
from apps.ground.folding import folded_copies
from apps.ground.tenancy import current_shop

if TYPE_CHECKING:
    from apps.shops.models import Shop

M = TypeVar("M", bound=models.Model)

# A text of 255 characters with its case folded: a character becomes three at most.
MAX_FOLDED = 3 * 255


def fresh_version() -> int:
    """A value that no earlier state of a row carried; nanoseconds since 1970.

    Two changes of one row are ordered by its lock, so the clock cannot give both the same value.
    """
    return time.time_ns()


class VersionField(models.BigIntegerField[int, int]):
    """Takes a fresh value at each save, so that equal versions mean equal content."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Like a big integer that no form shows."""
        kwargs.setdefault("default", fresh_version)
        kwargs.setdefault("editable", False)
        super().__init__(*args, **kwargs)

    def pre_save(self, model_instance: models.Model, add: bool) -> int:
        """Put a fresh version on the instance and into the row."""
        version = fresh_version()
        setattr(model_instance, self.attname, version)
        return version


def values_of(row: models.Model) -> dict[str, object]:
    """The columns of a row as they are on the instance, to tell later whether it changed."""
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def delete_rows(rows: Sequence[models.Model]) -> None:
    """Delete rows of one model that are at hand, with all that hangs on them; a queryset would read them once more."""
    if rows:
        collector = Collector(using=rows[0]._state.db or DEFAULT_DB_ALIAS, origin=rows[0])
        collector.collect(rows)
        collector.delete()


class TimestampedQuerySet(models.QuerySet[M]):
    """A queryset whose ``update`` moves ``updated_at`` and the version, as ``save`` does; folded copies follow."""

    def update(self, **kwargs: Any) -> int:
        """Update rows, and say when, unless the caller says so itself.

        Raises:
            TypeError: A column that has a folded copy is to take the value of an expression.
        """
        for name, copy in folded_copies(self.model).items():
            if name in kwargs and copy.name not in kwargs:
                if hasattr(kwargs[name], "resolve_expression"):
                    message = f"{name} has a folded copy: only texts can be written"
                    raise TypeError(message)
                kwargs[copy.name] = copy.folding(kwargs[name])
        names = {field.name for field in self.model._meta.concrete_fields}
        if "updated_at" in names:
            kwargs.setdefault("updated_at", timezone.now())
        if "version" in names:
            kwargs.setdefault("version", fresh_version())
        return super().update(**kwargs)

    update.alters_data = True  # type: ignore[attr-defined]

    def bulk_update(self, objs: Iterable[M], fields: Iterable[str], batch_size: int | None = None) -> int:
        """Update columns of rows to plain values, with the folded copies of those columns.

        One small statement for each row: Django's one large statement costs milliseconds a row to write.

        Args:
            objs: Stored rows.
            fields: The names of the columns.
            batch_size: For callers of Django's; nothing depends on it.
        """
        rows, names = list(objs), list(fields)
        if not rows:
            return 0
        meta, here = self.model._meta, connections[self.db]
        copies = [copy for name, copy in folded_copies(self.model).items() if name in names]
        stamps = [field for field in meta.concrete_fields if field.name in {"updated_at", "version"} - set(names)]
        moving, plain = [*copies, *stamps], [field for field in meta.concrete_fields if field.name in names]
        quote = here.ops.quote_name
        assignments = ", ".join(f"{quote(str(field.column))} = %s" for field in (*moving, *plain))
        table, key = quote(meta.db_table), quote(str(meta.pk.column))
        statement = f"UPDATE {table} SET {assignments} WHERE {key} = %s"  # noqa: S608 - names
        values = [
            (
                *(field.get_db_prep_save(field.pre_save(row, False), here) for field in moving),
                *(field.get_db_prep_save(getattr(row, field.attname), here) for field in plain),
                row.pk,
            )
            for row in rows
        ]
        with transaction.atomic(using=self.db, savepoint=False), here.cursor() as cursor:
            cursor.executemany(statement, values)
        return len(rows)

    bulk_update.alters_data = True  # type: ignore[attr-defined]

    def _insert(self, objs: Sequence[M], fields: Sequence[sql.AnyField], **options: Any) -> sql.Rows:
        """Insert with a statement whose parts are written once per model; the ORM would write it anew."""
        rows = None
        returning = options.get("returning_fields")
        if returning and not options.get("raw") and options.get("on_conflict") is None:
            one = len(objs) == 1
            rows = sql.insert(objs[0], fields, returning) if one else sql.insert_many(objs, fields, returning)
        if rows is None:
            rows = super()._insert(objs, fields, **options)  # type: ignore[misc]
        return rows

    _insert.alters_data = True  # type: ignore[attr-defined]
    _insert.queryset_only = False  # type: ignore[attr-defined]


if TYPE_CHECKING:

    class ShopManager(models.Manager[M]):
        """What ``shop_manager`` makes: a manager whose querysets move time stamps and versions."""

        def get_queryset(self) -> TimestampedQuerySet[M]:
            """The rows of the scope's shop."""


def shop_manager(queryset: type[models.QuerySet[M]], manager: type[models.Manager[M]] = models.Manager) -> Any:
    """A manager that works inside of a shop's scope only."""
    return ScopedManager(shop="shop", _manager_class=manager.from_queryset(queryset))


class Timestamped(models.Model):
    """A row that knows when it was made and when it last changed."""

    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True

    def save(self, **kwargs: Any) -> None:
        """Save; a partial save takes the time stamp, the version and folded copies along."""
        if (fields := kwargs.get("update_fields")) is not None:
            own = {field.name for field in self._meta.concrete_fields}
            copies = {copy.name for name, copy in folded_copies(type(self)).items() if name in fields}
            kwargs["update_fields"] = {*fields, *({"updated_at", "version"} & own), *copies}
        super().save(**kwargs)

    def _do_insert(
        self,
        manager: models.Manager[Self],
        using: str | None,
        fields: Sequence[sql.AnyField],
        returning_fields: Sequence[sql.AnyField],
        raw: bool,
    ) -> sql.Rows:
        """Insert with a statement written once per model; the ORM would write it anew for each row."""
        rows = None if raw or not returning_fields else sql.insert(self, fields, returning_fields)
        if rows is None:
            rows = super()._do_insert(manager, using, fields, returning_fields, raw)  # type: ignore[misc]
        return rows


# Set here, these names are no part of any migration.
for _field in Timestamped._meta.local_fields:
    _field.verbose_name = {"created_at": gettext_lazy("created at"), "updated_at": gettext_lazy("updated at")}[
        _field.name
    ]


def shop_of_many() -> "models.ForeignKey[Shop, Shop]":
    """The ``shop`` of a table of millions: without an index of its own, for others of the table begin with it."""
    return models.ForeignKey("shops.Shop", on_delete=models.CASCADE, related_name="+", editable=False, db_index=False)


class ShopOwned(Timestamped):
    """A row that belongs to one shop.

    Attributes:
        written: By relation, all related rows that a service wrote together with this new one.
    """

    written: "Mapping[str, Sequence[ShopOwned]]" = {}

    shop: "models.ForeignKey[Shop, Shop]" = models.ForeignKey(
        "shops.Shop", on_delete=models.CASCADE, related_name="+", editable=False
    )

    objects: "ClassVar[ShopManager[Self]]" = shop_manager(TimestampedQuerySet)

    class Meta:
        abstract = True

    @classmethod
    def rows(cls) -> TimestampedQuerySet[Self]:
        """The rows of the current shop."""
        return cls.objects.get_queryset().filter(shop=current_shop())
