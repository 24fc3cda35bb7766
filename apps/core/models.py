"""Base models with timestamps, and a version field for aggregate roots."""

import time
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections, models, transaction
from django.db.models.deletion import Collector
from django.utils import timezone
from django.utils.encoding import force_str
from django.utils.translation import gettext_lazy
from django_scopes import ScopedManager

from apps.core.db import prepared_sql, row_changes
from apps.core.db.case_folding import get_folded_columns

M = TypeVar("M", bound=models.Model)

# The maximum length of a string of 255 characters after case folding, which can turn one character into three.
MAX_FOLDED = 3 * 255


def create_version() -> int:
    """Return the nanoseconds since 1970. The row's lock ensures that two changes to a row get different versions."""
    return time.time_ns()


class VersionField(models.BigIntegerField[int, int]):
    """A version that changes at each save, so that equal versions mean equal content."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("default", create_version)
        kwargs.setdefault("editable", False)
        super().__init__(*args, **kwargs)

    def pre_save(self, model_instance: models.Model, add: bool) -> int:
        version = create_version()
        setattr(model_instance, self.attname, version)
        return version


def get_column_values(row: models.Model) -> dict[str, object]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def delete_rows(rows: Sequence[models.Model]) -> None:
    """Delete loaded rows of one model, with their dependent rows. A queryset would load the rows a second time."""
    if rows:
        deletions = row_changes.build_deletions(rows)
        collector = Collector(using=rows[0]._state.db or DEFAULT_DB_ALIAS, origin=rows[0])
        collector.collect(rows)
        collector.delete()
        row_changes.note_deleted(deletions)


class TimestampedQuerySet(models.QuerySet[M]):
    """A queryset that also sets ``updated_at``, the version and case-folded copies when it updates rows."""

    def update(self, **kwargs: Any) -> int:
        """Update rows and set ``updated_at`` and the version, unless the caller sets them."""
        for name, copy in get_folded_columns(self.model).items():
            if name in kwargs and copy.name not in kwargs:
                if hasattr(kwargs[name], "resolve_expression"):
                    message = f"{name} has a case-folded copy, so the value must be a text, not an expression"
                    raise TypeError(message)
                kwargs[copy.name] = copy.fold_value(kwargs[name])
        values = dict(kwargs)
        names = {field.name for field in self.model._meta.concrete_fields}
        if "updated_at" in names:
            kwargs.setdefault("updated_at", timezone.now())
        if "version" in names:
            kwargs.setdefault("version", create_version())
        parts = row_changes.read_before_update(self, values)
        count = super().update(**kwargs)
        row_changes.note_updated(parts, values)
        return count

    update.alters_data = True  # type: ignore[attr-defined]

    def delete(self) -> tuple[int, dict[str, int]]:
        deletions = row_changes.read_before_deletion(self)
        result = super().delete()
        row_changes.note_deleted(deletions)
        return result

    delete.alters_data = True  # type: ignore[attr-defined]
    delete.queryset_only = True  # type: ignore[attr-defined]

    def bulk_create(self, objs: Iterable[M], *args: Any, **kwargs: Any) -> list[M]:
        rows = super().bulk_create(objs, *args, **kwargs)
        if not any(kwargs.get(name) for name in ("ignore_conflicts", "update_conflicts")):
            row_changes.note_created(rows)
        return rows

    bulk_create.alters_data = True  # type: ignore[attr-defined]

    def bulk_update(self, objs: Iterable[M], fields: Iterable[str], batch_size: int | None = None) -> int:
        """Update columns of rows to plain values, with their case-folded copies. ``batch_size`` is ignored.

        This runs one small statement per row, because Django needs milliseconds per row to build one large statement.
        """
        rows, names = list(objs), list(fields)
        if not rows:
            return 0
        meta, connection = self.model._meta, connections[self.db]
        copies = [copy for name, copy in get_folded_columns(self.model).items() if name in names]
        stamps = [field for field in meta.concrete_fields if field.name in {"updated_at", "version"} - set(names)]
        moving, plain = [*copies, *stamps], [field for field in meta.concrete_fields if field.name in names]
        quote = connection.ops.quote_name
        assignments = ", ".join(f"{quote(str(field.column))} = %s" for field in (*moving, *plain))
        table, key = quote(meta.db_table), quote(str(meta.pk.column))
        statement = f"UPDATE {table} SET {assignments} WHERE {key} = %s"  # noqa: S608 - names
        values = [
            (
                *(field.get_db_prep_save(field.pre_save(row, False), connection) for field in moving),
                *(field.get_db_prep_save(getattr(row, field.attname), connection) for field in plain),
                row.pk,
            )
            for row in rows
        ]
        with transaction.atomic(using=self.db, savepoint=False), connection.cursor() as cursor:
            cursor.executemany(statement, values)
        row_changes.note_saved(rows, names)
        return len(rows)

    bulk_update.alters_data = True  # type: ignore[attr-defined]

    def _insert(self, objs: Sequence[M], fields: Sequence[prepared_sql.AnyField], **options: Any) -> prepared_sql.Rows:
        """Insert with a statement that is built once per model. The ORM would build a statement for each insert."""
        rows = None
        returning = options.get("returning_fields")
        if returning and not options.get("raw") and options.get("on_conflict") is None:
            if len(objs) == 1:
                rows = prepared_sql.insert_row(objs[0], fields, returning)
            else:
                rows = prepared_sql.insert_rows(objs, fields, returning)
        return super()._insert(objs, fields, **options) if rows is None else rows  # type: ignore[misc]

    _insert.alters_data = True  # type: ignore[attr-defined]
    _insert.queryset_only = False  # type: ignore[attr-defined]


if TYPE_CHECKING:

    class ShopManager(models.Manager[M]):
        """The type of the manager from ``create_shop_manager``."""

        def get_queryset(self) -> TimestampedQuerySet[M]:
            """Return the rows of the current shop."""


def create_shop_manager(queryset: type[models.QuerySet[M]], manager: type[models.Manager[M]] = models.Manager) -> Any:
    """Return a manager that only works inside a shop scope."""
    return ScopedManager(shop="shop", _manager_class=manager.from_queryset(queryset))


class Timestamped(models.Model):
    """A row with the time of creation and the time of the last change.

    Each text column is in ``personal_fields`` or ``non_personal_fields`` (see ``apps.core.privacy``).
    """

    personal_fields: ClassVar[tuple[str, ...]] = ()
    non_personal_fields: ClassVar[tuple[str, ...]] = ()
    # The foreign keys to rows with a history that also shows the changes of this row.
    history_owners: ClassVar[tuple[str, ...]] = ()
    # Columns with changes that the history does not show, because Backoffice calculates the values from other columns.
    unrecorded_fields: ClassVar[tuple[str, ...]] = ()

    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True

    def _get_FIELD_display(self, field: models.Field[Any, Any]) -> Any:  # noqa: N802 - Django's name
        """Return the label of a choice. Django's method would translate all labels of the field at each call."""
        value = getattr(self, field.attname)
        return force_str(dict(field.flatchoices).get(value, value), strings_only=True)

    def save(self, **kwargs: Any) -> None:
        """Save the row. A partial save includes the timestamp, the version and the case-folded copies."""
        if (fields := kwargs.get("update_fields")) is not None:
            own = {field.name for field in self._meta.concrete_fields}
            copies = {copy.name for name, copy in get_folded_columns(type(self)).items() if name in fields}
            kwargs["update_fields"] = {*fields, *({"updated_at", "version"} & own), *copies}
        is_new = self._state.adding
        super().save(**kwargs)
        if is_new:
            row_changes.note_created([self])
        else:
            row_changes.note_saved([self], kwargs.get("update_fields"))

    def delete(self, using: Any = None, keep_parents: bool = False) -> tuple[int, dict[str, int]]:
        deletions = row_changes.build_deletions([self])
        result = super().delete(using, keep_parents)
        row_changes.note_deleted(deletions)
        return result

    @classmethod
    def from_db(cls, db: str | None, field_names: Collection[str], values: Collection[Any], **options: Any) -> Self:
        row = super().from_db(db, field_names, values, **options)
        row_changes.remember_stored_values(row, field_names, values)
        return row

    def refresh_from_db(
        self, using: str | None = None, fields: Iterable[str] | None = None, from_queryset: Any = None
    ) -> None:
        names = None if fields is None else list(fields)
        super().refresh_from_db(using, names, from_queryset)
        row_changes.remember_refreshed_values(self, names)

    def _do_insert(
        self,
        manager: models.Manager[Self],
        using: str | None,
        fields: Sequence[prepared_sql.AnyField],
        returning_fields: Sequence[prepared_sql.AnyField],
        raw: bool,
    ) -> prepared_sql.Rows:
        if not raw and returning_fields:
            rows = prepared_sql.insert_row(self, fields, returning_fields)
            if rows is not None:
                return rows
        return super()._do_insert(manager, using, fields, returning_fields, raw)  # type: ignore[misc]


# Set the labels here and not in the fields, so that migrations do not contain the labels.
for _field in Timestamped._meta.local_fields:
    _field.verbose_name = {"created_at": gettext_lazy("created at"), "updated_at": gettext_lazy("updated at")}[
        _field.name
    ]
