"""Find migration operations that would break or block processes of the previous release."""

import inspect
from collections.abc import Iterator
from typing import Any

from django.db import migrations
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import ForeignKey, ManyToManyField

from apps.ground.migration_operations import (
    AddExpressionStatistics,
    AddIndexWithoutBlocking,
    AddPostgresIndex,
    DropForeignKeyIndex,
    SetFillFactor,
)

# Operations that remove tables or columns used by running code, and operations that cannot be checked.
_FORBIDDEN_OPERATIONS = (
    migrations.RemoveField,
    migrations.RenameField,
    migrations.RenameModel,
    migrations.DeleteModel,
    migrations.AlterModelTable,
    migrations.AlterOrderWithRespectTo,
)
_HARMLESS = (
    migrations.CreateModel,
    migrations.RemoveIndex,
    migrations.RemoveConstraint,
    migrations.AlterModelOptions,
    migrations.AlterModelManagers,
    migrations.AlterModelTableComment,
    migrations.RenameIndex,
    migrations.RunPython,
    AddIndexWithoutBlocking,
    AddPostgresIndex,
    AddExpressionStatistics,
    DropForeignKeyIndex,
    SetFillFactor,
)


def find_unsafe_operations(migration: migrations.Migration, before: ProjectState) -> list[str]:
    """Return a message for each operation that is unsafe while a table is in use. ``before`` is the previous state."""
    if migration.initial:
        return []
    state = before.clone()
    new_tables: set[str] = set()
    problems: list[str] = []
    for operation in migration.operations:
        problems += _check_operation(operation, migration.app_label, state, new_tables)
        operation.state_forwards(migration.app_label, state)
        if isinstance(operation, migrations.CreateModel):
            new_tables.add(operation.name_lower)
    if migration.atomic and any(
        isinstance(step, (AddIndexWithoutBlocking, AddPostgresIndex)) for step in migration.operations
    ):
        problems.append("a concurrent index cannot be built in a transaction: set atomic = False")
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
    if isinstance(operation, migrations.SeparateDatabaseAndState):
        inner = state.clone()
        for part in operation.database_operations:
            yield from _check_operation(part, app, inner, new_tables)
            part.state_forwards(app, inner)
        return
    model = str(getattr(operation, "model_name", None) or getattr(operation, "name", "")).lower()
    if model in new_tables or isinstance(operation, _HARMLESS):
        return
    name = type(operation).__name__
    if isinstance(operation, _FORBIDDEN_OPERATIONS):
        yield f"{name} on {model}: running code still uses it"
    elif isinstance(operation, migrations.AddField):
        yield from (f"AddField {model}.{operation.name}: {why}" for why in _check_new_field(operation.field))
    elif isinstance(operation, migrations.AlterField):
        old = state.models[app, model].fields[operation.name]
        yield from (f"AlterField {model}.{operation.name}: {why}" for why in _check_changed_field(old, operation.field))
    elif isinstance(operation, migrations.AddIndex):
        yield f"AddIndex on {model}: this blocks writers; use AddIndexWithoutBlocking"
    elif isinstance(operation, migrations.AddConstraint):
        yield f"AddConstraint on {model}: this locks and scans the table, and running code may violate it"
    else:
        yield f"{name}: cannot be checked"


def _check_new_field(field: Any) -> Iterator[str]:
    if isinstance(field, ManyToManyField):
        return
    if getattr(field, "generated", False):
        yield "this rewrites the table"
    elif not field.null and not field.has_db_default():
        yield "running code inserts rows without it; use null or db_default"
    if field.unique or field.db_index:
        yield "building its index blocks writers"


def _check_changed_field(old: Any, new: Any) -> Iterator[str]:
    if old.null and not new.null:
        yield "running code may write NULL"
    if (new.unique and not old.unique) or (new.db_index and not old.db_index):
        yield "building its index blocks writers"
    if (
        type(old) is not type(new)
        or _get_column_definition(old) != _get_column_definition(new)
        or _get_max_length(new) < _get_max_length(old)
    ):
        yield "the column's type changes under running code"


def _get_column_definition(field: Any) -> dict[str, Any]:
    """Return the column's definition without the attributes that are checked separately."""
    _, _, _, values = field.deconstruct()
    apart = {"null", "unique", "db_index", "max_length", "db_default", *field.non_db_attrs}
    if isinstance(field, ForeignKey):
        apart |= {"to", "db_constraint"}
    return {key: value for key, value in values.items() if key not in apart}


def _get_max_length(field: Any) -> float:
    return float("inf") if field.max_length is None else float(field.max_length)
