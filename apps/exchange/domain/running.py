"""Taking a file in, batch by batch, after a yes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.events.domain.recording import record_event
from apps.exchange.domain.batches import Numbered, batches, numbered
from apps.exchange.domain.claims import Claim, claimed
from apps.exchange.domain.fates import Told, note, told_of
from apps.exchange.domain.files import remove
from apps.exchange.domain.imports import FINISHED, PREVIEW, State, opened
from apps.exchange.domain.kinds import importers
from apps.exchange.domain.parsing import rows_of
from apps.exchange.domain.rows import Outcome, RawRow
from apps.exchange.domain.taking import allowed_to, taken_together
from apps.exchange.models import Import, ImportedRow
from apps.ground import statistics


def run(kept: Import) -> Told:
    """Import a file; rows that were dealt with before a break are left out.

    Raises:
        Busy: Somebody else works on the file.
        ClaimLost: Somebody else has taken it over.
        UnreadableFile: It cannot be read as a whole.
    """
    allowed = allowed_to(kept.actor)
    with claimed(kept, State.IMPORTING) as claim:
        with opened(kept) as file:
            for batch in batches(numbered(rows_of(file, kept.format, kept.mapping))):
                before, kept.done = kept.done, batch[-1].number
                if left := _not_dealt_with(kept, batch):
                    alive = partial(claim.hold, done=batch[0].number - 1)
                    with _prepared(left, allowed, alive) as ready:
                        outcomes = _imported(kept, ready, allowed, claim)
                    yield from told_of(left, outcomes)
                    statistics.renew_on_the_way(before, kept.done)
        with transaction.atomic():
            claim.hold(done=kept.done)
            now = timezone.now()
            Import.objects.filter(pk=kept.pk).update(state=State.DONE, total=kept.done, finished_at=now)
            ImportedRow.objects.filter(file=kept, dry=True).delete()
            record_event(FINISHED, kept, actor=kept.actor, at=now)
    remove(kept.place)
    if kept.done >= statistics.MANY:
        statistics.renew()


def _not_dealt_with(kept: Import, batch: Sequence[Numbered]) -> list[Numbered]:
    noted = ImportedRow.objects.filter(file=kept, dry=False, line__in=[each.row.line for each in batch])
    dealt_with = set(noted.values_list("line", flat=True))
    return [each for each in batch if each.row.line not in dealt_with]


@contextmanager
def _prepared(
    batch: Sequence[Numbered], allowed: frozenset[str], alive: Callable[[], None]
) -> Iterator[Sequence[Numbered]]:
    """The rows with what they name from elsewhere; no transaction is open meanwhile."""
    wanted = [each.row for each in batch if each.row.body is not None and each.row.kind in allowed]
    prepare = importers()[wanted[0].kind].prepare if wanted else None
    if prepare is None:
        yield batch
        return
    with prepare(wanted, alive=alive) as rows:
        ready = {row.line: row for row in rows}
        yield [each._replace(row=ready.get(each.row.line, each.row)) for each in batch]


def _imported(kept: Import, batch: Sequence[Numbered], allowed: frozenset[str], claim: Claim) -> list[Outcome]:
    """Take rows in, once; where one brings what is there by now, each by itself, and what was brought is known."""
    try:
        return _taken_and_noted(kept, batch, allowed, claim)
    except IntegrityError:
        if len(batch) == 1:
            return _taken_and_noted(kept, batch, allowed, claim)
        return [outcome for one in batch for outcome in _imported(kept, [one], allowed, claim)]


@transaction.atomic
def _taken_and_noted(kept: Import, batch: Sequence[Numbered], allowed: frozenset[str], claim: Claim) -> list[Outcome]:
    claim.hold(done=batch[-1].number)
    outcomes = taken_together(batch, allowed, actor=kept.actor)
    note(kept, [_noted(each, outcome) for each, outcome in zip(batch, outcomes, strict=True)], dry=False)
    return outcomes


def _noted(each: Numbered, outcome: Outcome) -> tuple[RawRow, Outcome]:
    """What is written down of a row; what it changed only of the first, which the page shows."""
    return each.row, outcome if each.number <= PREVIEW else replace(outcome, changes={})
