"""Build the changes that an event records from the collected changes of rows (``apps.core.db.row_changes``).

The changes of the event's own row are ``{field: [before, after]}``. The parts of the row, such as the variants of a
product, are below the name ``ROWS``: the changed, created and deleted parts, and the numbers of further parts.
"""

from collections.abc import Collection, Mapping, Sequence
from copy import copy

from django.db.models import Field, Model

from apps.core.db.encrypted_fields import SecretField
from apps.core.db.row_changes import Action, RowChange, RowKey, get_key, get_recorded_fields
from apps.core.events.values import Changes, hide_change, to_plain_pair
from apps.core.privacy import get_personal_fields

ROWS = "changed_rows"
# An entry contains the values of at most this many parts of each model, and the number of all others.
MAX_ROWS = 40
# Columns that no event contains, although they are no encrypted columns.
_SECRET_NAMES = ("password", "secret", "token", "nonce", "digest")


def add_row_changes(
    changes: Mapping[str, object] | None, row: Model, collected: Sequence[RowChange]
) -> dict[str, object]:
    """Return the changes of an event: the given changes or else those of its own row, and those of the row's parts."""
    if not collected:
        return dict(changes or {})
    key = get_key(row)
    own = [change for change in collected if _get_change_key(change) == key]
    result: dict[str, object] = dict(_build_row_changes(_merge(own)[0]) if changes is None and own else changes or {})
    if parts := _merge([change for change in collected if _get_change_key(change) != key]):
        result[ROWS] = _build_rows(parts)
    return result


def _get_change_key(change: RowChange) -> RowKey:
    return RowKey(get_key(change.row).label, change.pk)


def _merge(changes: Sequence[RowChange]) -> list[RowChange]:
    """Return one change for each row, from the first old values to the last new values."""
    merged: dict[RowKey, RowChange] = {}
    for change in changes:
        key = _get_change_key(change)
        first = merged.get(key)
        if first is None:
            merged[key] = RowChange(change.action, change.row, change.pk, {**change.before}, {**change.after})
            merged[key].is_counted = change.is_counted
        elif change.action == Action.DELETED:
            if first.action == Action.CREATED:
                del merged[key]
            else:
                first.action = Action.DELETED
        else:
            first.before = {**change.before, **first.before}
            first.after.update(change.after)
            if first.action == Action.CREATED and change.row is not first.row:
                # Another instance of the new row was changed, so the values of the first instance are old.
                first.row = copy(first.row)
                for name, value in change.after.items():
                    setattr(first.row, name, value)
    return list(merged.values())


def _build_rows(parts: Sequence[RowChange]) -> dict[str, object]:
    rows, more = list[dict[str, object]](), dict[str, int]()
    counts = dict[str, int]()
    # Rows that only moved come last, because they matter least.
    for part in sorted(parts, key=lambda change: change.after.keys() == {"position"}):
        if part.action == Action.CHANGED and part.before == part.after:
            continue
        label = get_key(part.row).label
        if part.is_counted or counts.get(label, 0) == MAX_ROWS:
            more[label] = more.get(label, 0) + 1
            continue
        counts[label] = counts.get(label, 0) + 1
        changes = _build_row_changes(part)
        row_label = _get_label(part)
        rows.append({"type": label, "id": part.pk, "label": row_label, "action": part.action.value, "changes": changes})
    return {"rows": rows, "more": more}


def _get_label(part: RowChange) -> str:
    row = part.row
    if (label := getattr(row, "history_label", None)) is None:
        label = f"#{part.pk}" if get_personal_fields(type(row)) else str(row)
    return str(label)[:255]


def _build_row_changes(change: RowChange) -> Changes:
    row = change.row
    columns = get_recorded_fields(type(row))
    if change.action == Action.CHANGED:
        pairs = {
            column: (change.before[column.attname], change.after[column.attname])
            for column in columns
            if column.attname in change.after and change.before[column.attname] != change.after[column.attname]
        }
    else:
        values = {column: row.__dict__.get(column.attname) for column in columns}
        filled = {column: value for column, value in values.items() if not _is_blank(column, value)}
        created = change.action == Action.CREATED
        pairs = {column: (None, value) if created else (value, None) for column, value in filled.items()}
    hidden = get_hidden_fields(row)
    return {
        column.attname: hide_change(*pair) if is_hidden(column, hidden) else to_plain_pair(*pair)
        for column, pair in pairs.items()
    }


def get_hidden_fields(row: Model) -> Collection[str]:
    """Return the columns of a row with values that no event contains, because they are or can be personal data."""
    fields: Collection[str] | None = getattr(row, "hidden_history_fields", None)
    return get_personal_fields(type(row)) if fields is None else fields


def is_hidden(column: "Field[object, object]", hidden: Collection[str]) -> bool:
    return (
        column.name in hidden or isinstance(column, SecretField) or any(word in column.name for word in _SECRET_NAMES)
    )


def _is_blank(column: "Field[object, object]", value: object) -> bool:
    return value is None or value in ("", [], {}) or (column.has_default() and value == column.get_default())
