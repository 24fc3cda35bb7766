"""Import rows in batches or one by one, check permissions, and turn errors into failed results."""

from collections.abc import Callable, Sequence
from datetime import datetime

from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from apps.exchange.domain.import_rows import ImportRow, RowOutcome, RowResult, create_failed_outcome
from apps.exchange.domain.resources import get_importers
from apps.exchange.domain.row_batches import NumberedRow
from apps.ground.constraint_errors import find_violated_constraint
from apps.ground.exceptions import DomainError
from apps.ground.stored_messages import register_message

_FORBIDDEN = register_message(gettext_noop("You don't have permission to import {kind}"), kind=gettext)


def get_allowed_resources(actor: str) -> frozenset[str]:
    """Return the names of the resources that the actor may import. The operator's command may import all resources."""
    needed = {name: importer.permission for name, importer in get_importers().items()}
    kind, _, number = actor.partition(":")
    if kind != "staff":
        return frozenset(needed)
    user = get_user_model().objects.filter(pk=number).first()
    return frozenset(name for name, permission in needed.items() if user is not None and user.has_perm(permission))


def _check_permission(row: ImportRow, allowed: frozenset[str]) -> RowOutcome | None:
    """Return a failed result if the user may not import the row, or None otherwise."""
    if row.body is None or row.kind in allowed:
        return None
    return RowOutcome(RowResult.FAILED, reason=_FORBIDDEN.format(kind=row.kind))


def import_batch(
    batch: Sequence[NumberedRow], allowed: frozenset[str], *, actor: str, dry: bool = False
) -> list[RowOutcome]:
    """Import rows of one resource, each with a different object. Invalid rows get a failed result.

    Raises:
        IntegrityError: If another process created one of the objects. Nothing is saved.
    """
    outcomes = [_check_permission(numbered_row.row, allowed) for numbered_row in batch]
    rows_with_body = [
        (row, row.body)
        for (_, row, _), forbidden in zip(batch, outcomes, strict=True)
        if row.body is not None and not forbidden
    ]
    import_many = get_importers()[rows_with_body[0][0].kind].import_rows if rows_with_body else None
    if import_many is not None and (dry or len(rows_with_body) > 1):
        imported = iter(import_many(rows_with_body, actor=actor, at=timezone.now(), dry=dry))
        return [
            forbidden or (next(imported) if row.body is not None else _import_row(row, actor=actor, at=timezone.now()))
            for (_, row, _), forbidden in zip(batch, outcomes, strict=True)
        ]
    now = timezone.now()
    return [
        forbidden or _import_row(row, actor=actor, at=now)
        for (_, row, _), forbidden in zip(batch, outcomes, strict=True)
    ]


def _import_row(row: ImportRow, *, actor: str, at: datetime) -> RowOutcome:
    """Import one row. An invalid row changes nothing and gets a failed result."""
    if row.body is None:
        return RowOutcome(RowResult.FAILED, reason=row.problem)
    body = row.body
    return import_in_savepoint(lambda: get_importers()[row.kind].import_row(row, body, actor=actor, at=at))


def import_in_savepoint(take_in: Callable[[], RowOutcome]) -> RowOutcome:
    """Call a function that imports a row in a savepoint, and turn its errors into a failed result."""
    try:
        with transaction.atomic():
            return take_in()
    except DomainError as domain_error:
        return create_failed_outcome(domain_error)
    except IntegrityError as integrity_error:
        breach = find_violated_constraint(integrity_error)
        if breach is None:
            raise
        return RowOutcome(RowResult.FAILED, reason=f"{breach.field} {breach.message}")
