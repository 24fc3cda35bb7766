from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TypeAlias

from django.apps import apps
from django.db import connection, transaction
from django.db.models import Model

from apps.core.rest.reading import render_cache

# Also a refused call of a deprecated route is recorded.
UNRELATED = {"sessions.Session", "contenttypes.ContentType", "auth.Permission", "api.DeprecatedCall"}
# Even a failed request updates the token's last use.
ALWAYS_UPDATED = {"AccessToken.last_used_at", "AccessToken.updated_at"}

# The row count and the contents of each table.
Snapshot: TypeAlias = dict[str, tuple[int, str]]


@cache
def _build_snapshot_query() -> str:
    quote = connection.ops.quote_name

    def contents(model: type[Model]) -> str:
        fields = sorted(model._meta.concrete_fields, key=lambda field: not field.primary_key)
        names = {str(field.column): f"{model.__name__}.{field.name}" for field in fields if field.column}
        columns = [quote(column) for column, name in names.items() if name not in ALWAYS_UPDATED]
        if connection.vendor == "postgresql":
            # Order by the primary key, because an update moves a row to another place.
            contents_sql = f"string_agg(ROW({','.join(columns)})::text, ',' ORDER BY {columns[0]})"
        else:
            contents_sql = f"group_concat({'||'.join(f'quote({column})' for column in columns)})"
        return f"SELECT '{model._meta.label}', count(*), {contents_sql} FROM {quote(model._meta.db_table)}"

    models = (model for model in apps.get_models() if model._meta.managed and model._meta.label not in UNRELATED)
    return " UNION ALL ".join(map(contents, models))


def snapshot_database() -> Snapshot:
    with connection.cursor() as cursor:
        cursor.execute(_build_snapshot_query())
        return {label: (count, contents) for label, count, contents in cursor.fetchall()}


@contextmanager
def assert_database_unchanged(before: Snapshot | None = None, ignored_tables: Collection[str] = ()) -> Iterator[None]:
    """Fail if the block adds, changes or deletes rows or events, compared with ``before`` or the block's start."""
    before = before or snapshot_database()
    yield
    after = snapshot_database()
    assert [table for table in before if before[table] != after[table] and table not in ignored_tables] == []


@contextmanager
def rolled_back() -> Iterator[None]:
    """Roll back the block's changes and clear the render cache, because later rows have the same versions."""
    try:
        with transaction.atomic():
            yield
            transaction.set_rollback(True)
    finally:
        render_cache.cache.clear()
