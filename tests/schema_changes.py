"""What in a migration would break or hold the processes of the release before, while they run on its schema."""

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

# What takes something away that running code asks for, and what cannot be judged.
_GONE = (
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


def unsafe(migration: migrations.Migration, before: ProjectState) -> list[str]:
    """A sentence for each operation that is unsafe on a table in use; ``before`` is the state it starts from."""
    if migration.initial:
        return []
    state = before.clone()
    fresh: set[str] = set()
    found: list[str] = []
    for operation in migration.operations:
        found += _judged(operation, migration.app_label, state, fresh)
        operation.state_forwards(migration.app_label, state)
        if isinstance(operation, migrations.CreateModel):
            fresh.add(operation.name_lower)
    if migration.atomic and any(
        isinstance(each, (AddIndexWithoutBlocking, AddPostgresIndex)) for each in migration.operations
    ):
        found.append("an index is built beside writers outside of a transaction only: atomic = False")
    found += [
        "an index is made by hand, and writers wait until it is built; AddPartsIndexBeside"
        for each in migration.operations
        if isinstance(each, migrations.RunPython) and "CREATE INDEX" in inspect.getsource(each.code).upper()
    ]
    work = [type(each) for each in migration.operations if not isinstance(each, migrations.RunPython)]
    if migration.atomic and work and len(work) < len(migration.operations):
        found.append("rows are worked on while the tables' locks are held: two migrations")
    return found


def _judged(operation: Operation, app: str, state: ProjectState, fresh: set[str]) -> Iterator[str]:
    if isinstance(operation, migrations.SeparateDatabaseAndState):
        inner = state.clone()
        for each in operation.database_operations:
            yield from _judged(each, app, inner, fresh)
            each.state_forwards(app, inner)
        return
    model = str(getattr(operation, "model_name", None) or getattr(operation, "name", "")).lower()
    if model in fresh or isinstance(operation, _HARMLESS):
        return
    name = type(operation).__name__
    if isinstance(operation, _GONE):
        yield f"{name} on {model}: running code still asks for it"
    elif isinstance(operation, migrations.AddField):
        yield from (f"AddField {model}.{operation.name}: {why}" for why in _of_new(operation.field))
    elif isinstance(operation, migrations.AlterField):
        old = state.models[app, model].fields[operation.name]
        yield from (f"AlterField {model}.{operation.name}: {why}" for why in _of_changed(old, operation.field))
    elif isinstance(operation, migrations.AddIndex):
        yield f"AddIndex on {model}: writers wait until it is built; AddIndexBeside"
    elif isinstance(operation, migrations.AddConstraint):
        yield f"AddConstraint on {model}: the table is locked and read, and running code may break it"
    else:
        yield f"{name}: cannot be judged"


def _of_new(field: Any) -> Iterator[str]:
    if isinstance(field, ManyToManyField):
        return
    if getattr(field, "generated", False):
        yield "the table is written anew"
    elif not field.null and not field.has_db_default():
        yield "running code inserts rows without it; null or db_default"
    if field.unique or field.db_index:
        yield "writers wait until its index is built"


def _of_changed(old: Any, new: Any) -> Iterator[str]:
    if old.null and not new.null:
        yield "running code may write NULL"
    if (new.unique and not old.unique) or (new.db_index and not old.db_index):
        yield "writers wait until its index is built"
    if type(old) is not type(new) or _column(old) != _column(new) or _length(new) < _length(old):
        yield "the column's type changes under running code"


def _column(field: Any) -> dict[str, Any]:
    """What makes the column, without what is judged by itself."""
    _, _, _, values = field.deconstruct()
    apart = {"null", "unique", "db_index", "max_length", "db_default", *field.non_db_attrs}
    if isinstance(field, ForeignKey):
        apart |= {"to", "db_constraint"}
    return {key: value for key, value in values.items() if key not in apart}


def _length(field: Any) -> float:
    return float("inf") if field.max_length is None else float(field.max_length)
