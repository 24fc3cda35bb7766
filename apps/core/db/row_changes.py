"""Collect the changes that a transaction makes to rows, until an event of the row or of its owner records them.

The base models call this module when they save, update or delete rows, so no service has to list its changes. The
changes wait among the commit callbacks of the connection: a rollback, also to a savepoint, discards them there.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple

from django.db import connection, models, transaction

from apps.core.db.case_folding import CaseFoldedField

# A queryset update or deletion reads all columns of at most this many rows. Events only count further rows.
MAX_READ_ROWS = 100
_TECHNICAL_FIELDS = frozenset({"id", "shop", "version", "created_at", "updated_at"})
_STORED = "stored_values"


class RowKey(NamedTuple):
    """Identifies the row of an event: the label of its model and its ID."""

    label: str
    pk: int


class Action(StrEnum):
    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"


@dataclass(slots=True)
class RowChange:
    """A change of one row. ``before`` and ``after`` are keyed by column; a created row is read when it is recorded."""

    action: Action
    row: models.Model
    pk: int
    before: dict[str, object] = field(default_factory=dict)
    after: dict[str, object] = field(default_factory=dict)
    # The subjects of events that have not yet recorded this change.
    subjects: set[RowKey] = field(default_factory=set)
    # Events count the row but do not name it, because not all of its columns were read.
    is_counted: bool = False


class _Model(NamedTuple):
    """What is the same for all rows of a model. It is collected once, because writes often need it.

    Attributes:
        columns: The columns with changes that the history shows.
        owners: The relation, the column and the label of the owner for each of ``history_owners``. A relation without
            a column has two blanks.
    """

    columns: tuple["models.Field[Any, Any]", ...]
    owners: tuple[tuple[str, str, str], ...]
    has_other_owners: bool


class _WaitingChanges:
    """The changes of one write. The connection keeps this commit callback, which does nothing."""

    def __init__(self, changes: list[RowChange]) -> None:
        self.changes = changes

    def __call__(self) -> None:
        self.changes = []

    def take(self, keys: Collection[RowKey], changes: dict[RowKey, list[RowChange]]) -> None:
        for change in self.changes:
            for key in change.subjects.intersection(keys):
                change.subjects.remove(key)
                changes.setdefault(key, []).append(change)
        self.changes = [change for change in self.changes if change.subjects]


def remember_stored_values(row: models.Model, names: Iterable[str], values: Iterable[object]) -> None:
    """Remember the values of a row that was just read."""
    row._state.__dict__[_STORED] = (names, values)


def remember_refreshed_values(row: models.Model, names: Collection[str] | None) -> None:
    """Remember the current values of columns that were just refreshed. None means all loaded columns."""
    loaded, old_values = row.__dict__, _get_stored_values(row)
    for column in row._meta.concrete_fields:
        if column.attname in loaded and (names is None or column.name in names or column.attname in names):
            old_values[column.attname] = loaded[column.attname]


def is_stored_before(row: models.Model) -> bool:
    """Return True if the row was read from the database, and False if it was created with this instance."""
    return bool(row._state.__dict__.get(_STORED))


def note_created(rows: Sequence[models.Model]) -> None:
    """Collect new rows. The rows must have IDs."""
    if rows and _can_have_owners(type(rows[0])) and connection.in_atomic_block:
        _wait([RowChange(Action.CREATED, row, row.pk, subjects=get_owner_keys(row, is_new=True)) for row in rows])


def note_saved(rows: Sequence[models.Model], names: Collection[str] | None = None) -> None:
    """Collect the changed columns of rows that were just saved. None means all columns."""
    _wait(_build_saved(rows, names))


def _build_saved(rows: Sequence[models.Model], names: Collection[str] | None) -> list[RowChange]:
    """Return the changed columns since the rows were read or saved, and remember the new values."""
    changes = list[RowChange]()
    columns: list[models.Field[Any, Any]] | None = None
    for row in rows:
        old_values = _get_stored_values(row)
        if not old_values:
            continue
        if columns is None:
            columns = [
                column
                for column in get_recorded_fields(type(row))
                if names is None or column.name in names or column.attname in names
            ]
        loaded = row.__dict__
        change: RowChange | None = None
        for column in columns:
            name = column.attname
            if name not in loaded or name not in old_values:
                continue
            before, after = old_values[name], loaded[name]
            if before is not after and _differs(column, before, after):
                if change is None:
                    change = RowChange(Action.CHANGED, row, row.pk, subjects={get_key(row), *get_owner_keys(row)})
                    changes.append(change)
                change.before[name], change.after[name] = before, after
                old_values[name] = after
    return changes


def read_before_update(rows: models.QuerySet[Any], values: Mapping[str, object]) -> list[models.Model]:
    """Return the parts of owners that a queryset update is about to change. Expressions are ignored."""
    if not has_owners(rows.model) or not connection.in_atomic_block:
        return []
    names = {name for name, value in values.items() if not hasattr(value, "resolve_expression")}
    columns = [
        column.name for column in get_recorded_fields(rows.model) if column.name in names or column.attname in names
    ]
    return _read_rows(rows, columns) if columns else []


def note_updated(rows: Sequence[models.Model], values: Mapping[str, object]) -> None:
    """Collect the changes of rows from ``read_before_update``, after the update."""
    if not rows:
        return
    plain = {name: value for name, value in values.items() if not hasattr(value, "resolve_expression")}
    for row in rows:
        for name, value in plain.items():
            setattr(row, name, value)
    further = _build_saved(rows[MAX_READ_ROWS:], plain)
    for change in further:
        change.is_counted = True
    _wait([*_build_saved(rows[:MAX_READ_ROWS], plain), *further])


def read_before_deletion(rows: models.QuerySet[Any]) -> list[RowChange]:
    if not has_owners(rows.model) or not connection.in_atomic_block:
        return []
    changes = build_deletions(_read_rows(rows, ()))
    for change in changes[MAX_READ_ROWS:]:
        change.is_counted = True
    return changes


def _read_rows(rows: models.QuerySet[Any], columns: Iterable[str]) -> list[models.Model]:
    """Return all rows. The rows after the first ``MAX_READ_ROWS`` only have their owners and the given columns."""
    first = list(rows.order_by()[:MAX_READ_ROWS])
    if len(first) < MAX_READ_ROWS:
        return first
    further = rows.order_by().select_related(None).only("pk", *rows.model.history_owners, *columns)
    return [*first, *further.exclude(pk__in=[row.pk for row in first])]


def build_deletions(rows: Sequence[models.Model]) -> list[RowChange]:
    """Return the deletions of rows that are about to lose their IDs."""
    if not rows or not _can_have_owners(type(rows[0])):
        return []
    return [RowChange(Action.DELETED, row, row.pk, subjects=get_owner_keys(row)) for row in rows]


def note_deleted(changes: list[RowChange]) -> None:
    _wait(changes)


def take_row_changes(keys: Collection[RowKey]) -> dict[RowKey, list[RowChange]]:
    """Return the collected changes of rows and their parts. Each subject receives each change once."""
    changes: dict[RowKey, list[RowChange]] = {}
    emptied = set[int]()
    for waiting in _get_waiting():
        if waiting.changes:
            waiting.take(keys, changes)
            if not waiting.changes:
                emptied.add(id(waiting))
    if emptied:
        connection.run_on_commit = [entry for entry in connection.run_on_commit if id(entry[1]) not in emptied]
    return changes


def discard_row_changes() -> None:
    """Forget the changes that were collected so far, for example by a test before its request."""
    for waiting in _get_waiting():
        waiting.changes = []


def get_key(row: models.Model) -> RowKey:
    return RowKey(get_label(type(row)), row.pk)


@cache
def get_label(model: type[models.Model]) -> str:
    return (model._meta.concrete_model or model)._meta.label_lower


def has_owners(model: type[models.Model]) -> bool:
    return bool(getattr(model, "history_owners", ()))


def _can_have_owners(model: type[models.Model]) -> bool:
    return bool(getattr(model, "history_owners", ())) or hasattr(model, "get_other_owner_keys")


def get_owner_keys(row: models.Model, *, is_new: bool = False) -> set[RowKey]:
    """Return the rows with a history that contains the changes of a row: its owners and, if loaded, their owners.

    For a new row, new owners are not returned, because the entry of a new owner does not list its parts.
    """
    about = _describe(type(row))
    if not about.owners and not about.has_other_owners:
        return set()
    keys = set[RowKey]()
    loaded = row._state.fields_cache
    for name, column, label in about.owners:
        owner = loaded.get(name)
        if owner is not None:
            keys |= get_owner_keys(owner, is_new=is_new)
            if is_new and not owner._state.adding and not owner._state.__dict__.get(_STORED):
                continue
        if column and (pk := getattr(row, column)) is not None:
            keys.add(RowKey(label, pk))
    if about.has_other_owners:
        keys.update(row.get_other_owner_keys())  # type: ignore[attr-defined]
    return keys


def get_recorded_fields(model: type[models.Model]) -> Sequence["models.Field[Any, Any]"]:
    """Return the columns with changes that the history shows: no timestamps, copies and columns of the database."""
    return _describe(model).columns


@cache
def _describe(model: type[models.Model]) -> _Model:
    owners = []
    for name in getattr(model, "history_owners", ()):
        relation = model._meta.get_field(name)
        if isinstance(relation, models.ForeignKey):
            owners.append((name, relation.attname, get_label(relation.remote_field.model)))
        else:
            owners.append((name, "", ""))
    excluded = {*_TECHNICAL_FIELDS, *getattr(model, "unrecorded_fields", ()), *getattr(model, "history_owners", ())}
    # The column ``path_key`` contains a copy or a hash of ``path``.
    excluded |= {f"{column.name}_key" for column in model._meta.concrete_fields}
    columns = tuple(
        column
        for column in model._meta.concrete_fields
        if column.name not in excluded and not isinstance(column, CaseFoldedField | models.GeneratedField)
    )
    return _Model(columns, tuple(owners), hasattr(model, "get_other_owner_keys"))


def _get_stored_values(row: models.Model) -> dict[str, object]:
    state = row._state.__dict__
    values = state.get(_STORED)
    if type(values) is not dict:
        values = state[_STORED] = dict(zip(*values, strict=False)) if values else {}
    return values


def _differs(column: "models.Field[Any, Any]", before: object, after: object) -> bool:
    if hasattr(after, "resolve_expression") or before == after:
        return False
    return type(before) is type(after) or before is None or after is None or column.to_python(after) != before


def _wait(changes: list[RowChange]) -> None:
    if changes and connection.in_atomic_block and (waiting := [change for change in changes if change.subjects]):
        transaction.on_commit(_WaitingChanges(waiting))


def _get_waiting() -> list[_WaitingChanges]:
    # The type stubs lack the third element of each entry.
    callbacks: list[Any] = connection.run_on_commit
    return [entry[1] for entry in callbacks if isinstance(entry[1], _WaitingChanges)]
