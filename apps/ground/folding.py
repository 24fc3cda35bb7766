"""Texts compared without regard to case, in every script and alike on every database.

Databases disagree on case: SQLite knows that of ASCII alone, PostgreSQL that of its locale, and neither takes "ß" for
"ss". So Python folds, once: a text that is searched has a ``FoldedField`` beside it, which plain lookups and plain
indexes serve. Where a list is short enough to be looked through, ``icontains`` and ``istartswith`` do without one.
"""

import unicodedata
from functools import cache
from typing import Any

from django.db import connection, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.db.models.lookups import Contains, EndsWith, IContains, IStartsWith, PatternLookup, StartsWith
from django.db.models.sql.compiler import SQLCompiler
from django.dispatch import receiver


def folded(text: str) -> str:
    """A text without regard to case: Unicode's full case folding, in composed form."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())


class FoldedField(models.TextField[str, str]):
    """The folded copy of another column; whatever it is compared with is folded too.

    Saving, ``bulk_create``, ``bulk_update`` and ``update`` of the other column take it along
    (``apps.ground.rows``).

    Args:
        of: The name of the other column.
    """

    def __init__(self, *args: Any, of: str = "", **kwargs: Any) -> None:
        """Like a text that no form shows."""
        self.of = of
        super().__init__(*args, **{"blank": True, "default": "", "editable": False, **kwargs})

    def deconstruct(self) -> Any:
        """What a migration writes."""
        name, path, args, kwargs = super().deconstruct()
        return name, path, args, {**kwargs, "of": self.of}

    def pre_save(self, model_instance: models.Model, add: bool) -> str:
        """Fold what the other column holds now."""
        value = self.folding(getattr(model_instance, self.of))
        setattr(model_instance, self.attname, value)
        return value

    def folding(self, value: str | None) -> str:
        """The folded form of a value of the other column."""
        return folded(value or "")

    def get_prep_value(self, value: Any) -> Any:
        """What the column is compared with."""
        return self.folding(value) if isinstance(value, str) else super().get_prep_value(value)


class _Folding(PatternLookup):
    """A pattern is folded like the column; Django hands it over as it was written."""

    def get_prep_lookup(self) -> Any:
        """The pattern, folded."""
        return folded(self.rhs) if isinstance(self.rhs, str) else super().get_prep_lookup()


@FoldedField.register_lookup
class _FoldedContains(_Folding, Contains):
    pass


@FoldedField.register_lookup
class _FoldedStart(_Folding, StartsWith):
    pass


@FoldedField.register_lookup
class _FoldedEnd(_Folding, EndsWith):
    pass


class _AnyCase(PatternLookup):
    """SQLite's own comparison knows the case of ASCII alone; a pattern beyond it costs a call of Python per row."""

    def as_sqlite(self, compiler: SQLCompiler, connection: Any) -> tuple[str, tuple[Any, ...]]:
        """Both sides folded."""
        if not isinstance(self.rhs, str) or self.rhs.isascii():
            return super().as_sql(compiler, connection)
        left, parameters = self.process_lhs(compiler, connection)
        right, pattern = self.process_rhs(compiler, connection)
        operator = connection.operators[self.lookup_name] % right
        return f"folded({left}) {operator}", (*parameters, *(folded(str(text)) for text in pattern))


@models.CharField.register_lookup
@models.TextField.register_lookup
class _ContainsInAnyCase(_AnyCase, IContains):
    pass


@models.CharField.register_lookup
@models.TextField.register_lookup
class _StartInAnyCase(_AnyCase, IStartsWith):
    pass


@receiver(connection_created)
def _teach_sqlite_to_fold(connection: BaseDatabaseWrapper, **_: object) -> None:
    if connection.vendor == "sqlite":
        connection.connection.create_function("folded", 1, _folded_or_null, deterministic=True)


def _folded_or_null(text: str | None) -> str | None:
    return None if text is None else folded(text)


@cache
def folded_copies(model: type[models.Model]) -> dict[str, FoldedField]:
    """The folded columns of a model by the column that each copies."""
    return {field.of: field for field in model._meta.concrete_fields if isinstance(field, FoldedField)}


def fill_copies(model: type[models.Model], *, batch: int = 5_000) -> None:
    """Write the folded copies of all rows that were there before the columns; for migrations.

    By so many rows in a transaction each, so that a table of millions is never held as a whole, and a second run
    repairs what a broken one left.
    """
    copies = folded_copies(model)
    quote = connection.ops.quote_name
    assignments = ", ".join(f"{quote(str(copy.column))} = %s" for copy in copies.values())
    statement = f"UPDATE {quote(model._meta.db_table)} SET {assignments} WHERE id = %s"  # noqa: S608 - names
    rows = model._base_manager.order_by("pk").values_list("pk", *copies)
    last: int | None = None
    while found := list(rows.filter(pk__gt=last)[:batch] if last is not None else rows[:batch]):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.executemany(
                statement,
                [(*(copy.folding(text) for copy, text in zip(copies.values(), texts, strict=True)), pk)
                 for pk, *texts in found],
            )  # fmt: skip
        last = found[-1][0]
