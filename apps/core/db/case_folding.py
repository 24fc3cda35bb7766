"""Case-insensitive text search with the same result on every database and in every script.

Databases disagree on case: SQLite only folds ASCII, PostgreSQL follows its locale, and neither matches "ß" with "ss".
So Python does the case folding: each searchable column has a case-folded copy (``CaseFoldedField``), which works with
plain lookups and indexes. Searches in small tables use ``icontains`` and ``istartswith`` without a copy.
"""

import unicodedata
from functools import cache
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.db.models.lookups import Contains, EndsWith, IContains, IStartsWith, PatternLookup, StartsWith
from django.db.models.sql.compiler import SQLCompiler
from django.dispatch import receiver
from django.utils.encoding import punycode

# The key can be longer than the email address, because international domains are stored in ASCII.
MAX_EMAIL_KEY = 320


def casefold_text(text: str) -> str:
    """Fold the case of a string with Unicode's full case folding. The result is in composed form (NFC)."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())


def build_email_key(email: str) -> str:
    """Return the key for comparing email addresses: lower case, with the domain in ASCII."""
    local, at, domain = email.rpartition("@")
    folded = unicodedata.normalize("NFC", local.casefold())
    try:
        return f"{folded}{at}{punycode(domain).lower()}"
    except UnicodeError:
        return f"{folded}{at}{domain.casefold()}"


class CaseFoldedField(models.TextField[str, str]):
    """The case-folded copy of the column ``of``. Values that are compared with this column are folded, too.

    The copy is updated by ``save``, ``bulk_create``, ``bulk_update`` and ``update`` (see ``apps.core.models``).
    """

    def __init__(self, *args: Any, of: str = "", **kwargs: Any) -> None:
        self.of = of
        super().__init__(*args, **{"blank": True, "default": "", "editable": False, **kwargs})

    def deconstruct(self) -> Any:
        name, path, args, kwargs = super().deconstruct()
        return name, path, args, {**kwargs, "of": self.of}

    def pre_save(self, model_instance: models.Model, add: bool) -> str:
        value = self.fold_value(getattr(model_instance, self.of))
        setattr(model_instance, self.attname, value)
        return value

    def fold_value(self, value: str | None) -> str:
        return casefold_text(value or "")

    def get_prep_value(self, value: Any) -> Any:
        return self.fold_value(value) if isinstance(value, str) else super().get_prep_value(value)


class _FoldedPatternLookup(PatternLookup):
    """Folds the pattern of a lookup, because Django passes the pattern unchanged."""

    def get_prep_lookup(self) -> Any:
        return casefold_text(self.rhs) if isinstance(self.rhs, str) else super().get_prep_lookup()


for _lookup in (Contains, StartsWith, EndsWith):
    CaseFoldedField.register_lookup(type(f"Folded{_lookup.__name__}", (_FoldedPatternLookup, _lookup), {}))


class _CaseInsensitiveLookup(PatternLookup):
    """Folds both sides on SQLite if the pattern is not ASCII. This costs a Python call per row."""

    def as_sqlite(self, compiler: SQLCompiler, connection: Any) -> tuple[str, tuple[Any, ...]]:
        if not isinstance(self.rhs, str) or self.rhs.isascii():
            return super().as_sql(compiler, connection)
        lhs, parameters = self.process_lhs(compiler, connection)
        rhs, pattern = self.process_rhs(compiler, connection)
        operator = connection.operators[self.lookup_name] % rhs
        return f"folded({lhs}) {operator}", (*parameters, *(casefold_text(str(text)) for text in pattern))


for _lookup in (IContains, IStartsWith):
    for _field in (models.CharField, models.TextField):
        _field.register_lookup(type(f"Folded{_lookup.__name__}", (_CaseInsensitiveLookup, _lookup), {}))


@receiver(connection_created)
def _create_sqlite_function(connection: BaseDatabaseWrapper, **_: object) -> None:
    if connection.vendor == "sqlite":
        connection.connection.create_function(
            "folded", 1, lambda text: None if text is None else casefold_text(text), deterministic=True
        )


@cache
def get_folded_columns(model: type[models.Model]) -> dict[str, CaseFoldedField]:
    """Return the case-folded columns of a model, keyed by the name of the original column."""
    return {field.of: field for field in model._meta.concrete_fields if isinstance(field, CaseFoldedField)}
