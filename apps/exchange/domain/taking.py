"""Taking rows in: who may, together where the kind can, each by itself else; a row that cannot be says why."""

from collections.abc import Callable, Sequence
from datetime import datetime

from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from apps.exchange.domain.batches import Numbered
from apps.exchange.domain.kinds import importers
from apps.exchange.domain.rows import Fate, Outcome, RawRow, failed
from apps.ground.constraints import breach_of
from apps.ground.errors import DomainError
from apps.ground.retelling import tells

_FORBIDDEN = tells(gettext_noop("You have no permission to import {kind}"), kind=gettext)


def allowed_to(actor: str) -> frozenset[str]:
    """The kinds of rows that somebody may import, now; the operator's command may import all."""
    needed = {name: importer.permission for name, importer in importers().items()}
    kind, _, number = actor.partition(":")
    if kind != "staff":
        return frozenset(needed)
    user = get_user_model().objects.filter(pk=number).first()
    return frozenset(name for name, permission in needed.items() if user is not None and user.has_perm(permission))


def _forbidden(row: RawRow, allowed: frozenset[str]) -> Outcome | None:
    """The fate of a row that the importing person may not bring; None for any other."""
    if row.body is None or row.kind in allowed:
        return None
    return Outcome(Fate.FAILED, reason=_FORBIDDEN.format(kind=row.kind))


def taken_together(
    batch: Sequence[Numbered], allowed: frozenset[str], *, actor: str, dry: bool = False
) -> list[Outcome]:
    """Do what rows of one kind say, of which no two have a key in common; those that cannot be say why.

    Raises:
        IntegrityError: Somebody else brought one of them meanwhile; nothing of the rows stays.
    """
    outcomes = [_forbidden(each.row, allowed) for each in batch]
    asked = [
        (row, row.body)
        for (_, row, _), known in zip(batch, outcomes, strict=True)
        if row.body is not None and not known
    ]
    many = importers()[asked[0][0].kind].take_in_many if asked else None
    if many is not None and (dry or len(asked) > 1):
        taken = iter(many(asked, actor=actor, at=timezone.now(), dry=dry))
        return [
            known or (next(taken) if row.body is not None else _taken_in(row, actor=actor, at=timezone.now()))
            for (_, row, _), known in zip(batch, outcomes, strict=True)
        ]
    now = timezone.now()
    return [known or _taken_in(row, actor=actor, at=now) for (_, row, _), known in zip(batch, outcomes, strict=True)]


def _taken_in(row: RawRow, *, actor: str, at: datetime) -> Outcome:
    """Do what a row says; a row that cannot be changes nothing, and says why."""
    if row.body is None:
        return Outcome(Fate.FAILED, reason=row.problem)
    body = row.body
    return by_itself(lambda: importers()[row.kind].take_in(row, body, actor=actor, at=at))


def by_itself(take_in: Callable[[], Outcome]) -> Outcome:
    """What a row does in a savepoint of its own; where it is refused, nothing of it stays, and its fate says why."""
    try:
        with transaction.atomic():
            return take_in()
    except DomainError as refusal:
        return failed(refusal)
    except IntegrityError as error:
        breach = breach_of(error)
        if breach is None:
            raise
        return Outcome(Fate.FAILED, reason=f"{breach.field} {breach.message}")
