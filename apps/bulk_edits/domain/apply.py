"""Change, preview or restore a single row. The caller opens the transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import IntegrityError, transaction

from apps.bulk_edits.domain.operations import apply_operations, get_needed_fields, summarize_changes
from apps.bulk_edits.domain.targets import EditTarget
from apps.bulk_edits.models import EditedRow
from apps.core.db.constraint_errors import find_violated_constraint
from apps.core.exceptions import DomainError, RowDeleted
from apps.core.i18n.messages import FIELD_ERROR, as_message, define_text
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, ReadOnlyAttrs

RowResult = EditedRow.Fate
DELETED = define_text("bulk_edits.deleted", "was deleted")
CHANGED_SINCE = define_text("bulk_edits.changed_since", "was changed after the bulk edit")


@dataclass(frozen=True, slots=True)
class EditOutcome:
    """The result of editing one row, which ``EditedRow`` stores."""

    fate: RowResult
    label: str = ""
    reason: str = ""
    changes: Sequence[Sequence[object]] = ()
    before: Attrs = field(default_factory=dict)
    mark: str = ""


def change_row(kind: EditTarget, pk: int, operations: ReadOnlyAttrs, *, actor: str, at: datetime) -> EditOutcome:
    """Apply the operations to a row.

    Raises:
        DomainError: If the new values are not allowed.
        IntegrityError: If a constraint is violated.
    """
    names = get_needed_fields(operations)
    row = kind.lock_row(pk, names)
    values, label = kind.get_values(row, names), kind.get_name(row)
    after = apply_operations(values, operations, get_current_shop().currency)
    if not after:
        return EditOutcome(RowResult.SAME, label)
    kind.write(row, after, actor=actor, at=at)
    before = {name: values[name] for name in after}
    return EditOutcome(
        RowResult.CHANGED, label, changes=summarize_changes(values, after), before=before, mark=kind.get_version(pk)
    )


def try_change(kind: EditTarget, pk: int, operations: ReadOnlyAttrs, *, actor: str, at: datetime) -> EditOutcome:
    """Apply the operations to a row, roll the changes back, and return the result."""
    try:
        with transaction.atomic():
            outcome = change_row(kind, pk, operations, actor=actor, at=at)
            transaction.set_rollback(True)
            return outcome
    except (DomainError, IntegrityError) as error:
        return create_refused_outcome(kind, pk, error)


def create_refused_outcome(kind: EditTarget, pk: int, error: DomainError | IntegrityError) -> EditOutcome:
    """Return the result for a row that could not be changed.

    Raises:
        IntegrityError: If the error does not concern a field value.
    """
    row = kind.model.rows().filter(pk=pk).first()
    return EditOutcome(RowResult.REFUSED, kind.get_name(row) if row is not None else "", get_refusal_reason(error))


def get_refusal_reason(error: DomainError | IntegrityError) -> str:
    """Return the REST API error message for a refused change.

    Raises:
        IntegrityError: If the error does not concern a field value.
    """
    if isinstance(error, RowDeleted):
        return DELETED
    if isinstance(error, DomainError):
        return error.sentence
    breach = find_violated_constraint(error)
    if breach is None:
        raise error
    return FIELD_ERROR(field=breach.field, error=as_message(breach.message))


def restore_row(kind: EditTarget, edited_row: EditedRow, *, actor: str, at: datetime) -> str:
    """Restore the old values of a row, unless the row was changed since the edit.

    Returns:
        The reason why the row was not restored, or an empty string.

    Raises:
        DomainError: If the old values are not allowed, or the row was deleted.
        IntegrityError: If a constraint is violated.
    """
    names = list(edited_row.before)
    row = kind.lock_row(edited_row.row_id, names)
    if not names or kind.get_version(edited_row.row_id) != edited_row.mark:
        return CHANGED_SINCE
    kind.write(row, edited_row.before, actor=actor, at=at)
    return ""
