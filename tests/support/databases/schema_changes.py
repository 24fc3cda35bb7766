"""Find migration operations that would break or block processes of the previous release.

django-migration-linter checks the SQL of a migration, which needs PostgreSQL. ``find_unsafe_operations`` checks the
rules that django-migration-linter does not know.
"""

import inspect
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from django.db import connection, migrations
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import ForeignKey, UniqueConstraint
from django_migration_linter.sql_analyser.analyser import analyse_sql_statements
from django_migration_linter.sql_analyser.postgresql import PostgresqlAnalyser

from apps.core.db.migration_operations import AddIndexWithoutBlocking, AddPostgresIndex, DropShopIndexes
from tests.support.types import JsonObject

# Operations that remove or rename what the previous release uses.
_BREAKING_OPERATIONS = (
    migrations.RemoveField,
    migrations.RenameField,
    migrations.DeleteModel,
    migrations.RenameModel,
    migrations.AlterModelTable,
)
# Longer text columns break nothing, so ``_check_changed_field`` checks changed types. Dropping an index takes no time.
_EXCLUDED_CHECKS = ("ALTER_COLUMN", "DROP_INDEX", "CREATE_INDEX_EXCLUSIVE")


def find_unsafe_statements(migration: migrations.Migration, before: ProjectState) -> list[str]:
    """Return the findings of django-migration-linter. ``before`` is the state before the migration."""
    if migration.initial:
        return []
    # A copy of the connection is not in the transaction of the test, so that concurrent indexes are allowed.
    with closing(connection.copy()) as own, own.schema_editor(collect_sql=True, atomic=False) as editor:
        migration.apply(before.clone(), editor, collect_sql=True)
    errors, _, warnings = analyse_sql_statements(PostgresqlAnalyser, editor.collected_sql, _EXCLUDED_CHECKS)
    return [issue.message for issue in (*errors, *warnings)]


def find_unsafe_operations(migration: migrations.Migration, before: ProjectState) -> list[str]:
    """Return a message for each operation that breaks another rule. ``before`` is the state before the migration."""
    if migration.initial:
        return []
    state = before.clone()
    new_tables: set[str] = set()
    problems: list[str] = []
    for operation in migration.operations:
        parts = (
            operation.database_operations if isinstance(operation, migrations.SeparateDatabaseAndState) else [operation]
        )
        for part in parts:
            problems += _check_operation(part, migration.app_label, state, new_tables)
        operation.state_forwards(migration.app_label, state)
        if isinstance(operation, migrations.CreateModel):
            new_tables.add(operation.name_lower)
    if migration.atomic and any(
        isinstance(step, (AddIndexWithoutBlocking, AddPostgresIndex, DropShopIndexes)) for step in migration.operations
    ):
        problems.append("a concurrent index cannot be built or dropped in a transaction: set atomic = False")
    problems += [
        "a plain CREATE INDEX blocks writers; use AddPostgresIndex"
        for step in migration.operations
        if isinstance(step, migrations.RunPython) and "CREATE INDEX" in inspect.getsource(step.code).upper()
    ]
    operation_types = [type(step) for step in migration.operations if not isinstance(step, migrations.RunPython)]
    if migration.atomic and operation_types and len(operation_types) < len(migration.operations):
        problems.append("rows are changed while the table is locked; split into two migrations")
    return problems


def _check_operation(operation: Operation, app: str, state: ProjectState, new_tables: set[str]) -> Iterator[str]:
    model = str(getattr(operation, "model_name", "")).lower()
    if model in new_tables:
        return
    if isinstance(operation, _BREAKING_OPERATIONS):
        yield f"{operation.describe()}: the previous release uses it"
    elif isinstance(operation, migrations.AddField):
        yield from _check_added_field(f"AddField {model}.{operation.name}", operation.field)
    elif isinstance(operation, migrations.AlterField):
        old = state.models[app, model].fields[operation.name]
        if old.null and not operation.field.null:
            yield f"AlterField {model}.{operation.name}: the previous release may insert NULL"
        if _changes_type(old, operation.field):
            yield f"AlterField {model}.{operation.name}: the column's type changes under running code"
    elif isinstance(operation, migrations.AddConstraint) and not isinstance(operation.constraint, UniqueConstraint):
        yield f"AddConstraint on {model}: this locks and scans the table, and running code may violate it"
    elif isinstance(operation, migrations.RunSQL):
        yield "RunSQL: cannot be checked"


def _check_added_field(name: str, field: Any) -> Iterator[str]:
    if not (field.null or field.many_to_many or field.has_db_default() or field.generated):
        yield f"{name}: the previous release inserts rows without it; set db_default"
    if field.generated:
        yield f"{name}: this rewrites the table"
    if field.unique:
        yield f"{name}: building its index blocks writers"


def _changes_type(old: Any, new: Any) -> bool:
    return (
        type(old) is not type(new)
        or _get_column_definition(old) != _get_column_definition(new)
        or _get_max_length(new) < _get_max_length(old)
    )


def _get_column_definition(field: Any) -> JsonObject:
    """Return the column's definition without the attributes that django-migration-linter checks."""
    _, _, _, values = field.deconstruct()
    apart = {"null", "unique", "db_index", "max_length", "default", "db_default", *field.non_db_attrs}
    if isinstance(field, ForeignKey):
        apart |= {"to", "db_constraint"}
    return {key: value for key, value in values.items() if key not in apart}


def _get_max_length(field: Any) -> float:
    return float("inf") if field.max_length is None else float(field.max_length)
