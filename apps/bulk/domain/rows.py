"""One row: changed, tried, or put back; each time in a transaction of the caller's."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import IntegrityError, transaction
from django.utils.translation import gettext_noop

from apps.bulk.domain.kinds import Kind
from apps.bulk.domain.operations import needed, told, wanted
from apps.bulk.models import EditedRow
from apps.ground.attrs import Attrs, Given
from apps.ground.constraints import breach_of
from apps.ground.errors import DomainError, Gone
from apps.ground.tenancy import current_shop

Fate = EditedRow.Fate
DELETED = gettext_noop("was deleted")
CHANGED_SINCE = gettext_noop("was changed since")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a row; the attributes are those of ``EditedRow``."""

    fate: Fate
    label: str = ""
    reason: str = ""
    changes: Sequence[Sequence[str]] = ()
    before: Attrs = field(default_factory=dict)
    mark: str = ""


class _Undo(Exception):
    """Rolls a row back that is only tried."""


def change(kind: Kind, pk: int, operations: Given, *, actor: str, at: datetime) -> Outcome:
    """Do the operations to a row.

    Raises:
        DomainError: The rules do not allow it.
        IntegrityError: The database does not.
    """
    names = needed(operations)
    row = kind.hold(pk, names)
    values, label = kind.values(row, names), kind.name_of(row)
    after = wanted(values, operations, current_shop().currency)
    if not after:
        return Outcome(Fate.SAME, label)
    kind.write(row, after, actor=actor, at=at)
    before = {name: values[name] for name in after}
    return Outcome(Fate.CHANGED, label, changes=told(values, after), before=before, mark=kind.mark(pk))


def tried(kind: Kind, pk: int, operations: Given, *, actor: str, at: datetime) -> Outcome:
    """What the operations would do to a row, without any effect."""
    outcome = Outcome(Fate.REFUSED)
    try:
        with transaction.atomic():
            outcome = change(kind, pk, operations, actor=actor, at=at)
            raise _Undo
    except _Undo:
        return outcome
    except (DomainError, IntegrityError) as error:
        return refused(kind, pk, error)


def refused(kind: Kind, pk: int, error: DomainError | IntegrityError) -> Outcome:
    """The fate of a row that was refused.

    Raises:
        IntegrityError: It says nothing about a value.
    """
    row = kind.model.rows().filter(pk=pk).first()
    return Outcome(Fate.REFUSED, kind.name_of(row) if row is not None else "", reason_of(error))


def reason_of(error: DomainError | IntegrityError) -> str:
    """Why, in the interface's words.

    Raises:
        IntegrityError: It says nothing about a value.
    """
    if isinstance(error, Gone):
        return DELETED
    if isinstance(error, DomainError):
        return error.sentence
    breach = breach_of(error)
    if breach is None:
        raise error
    return f"{breach.field} {breach.message}"


def put_back(kind: Kind, kept: EditedRow, *, actor: str, at: datetime) -> str:
    """Give a row back what stood in it, unless somebody changed it since; returns why not, blank where it was done.

    Raises:
        DomainError: The rules do not allow it, or the row was deleted.
        IntegrityError: The database does not.
    """
    names = list(kept.before)
    row = kind.hold(kept.row_id, names)
    if not names or kind.mark(kept.row_id) != kept.mark:
        return CHANGED_SINCE
    kind.write(row, kept.before, actor=actor, at=at)
    return ""
